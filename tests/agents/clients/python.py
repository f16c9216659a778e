#!/usr/bin/env python3
"""Calls every tool with the protocol's Python client, in the mode that is named: python.py MODE WORKSPACE COMMAND [ARGS…]"""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(mode, workspace, command, *args):
    server = StdioServerParameters(command=command, args=list(args), cwd=workspace)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        said = {"mode": mode, "version": str(client.protocol_version), "tools": [tool.name for tool in listed.tools], "calls": []}
        for name, arguments in json.load(sys.stdin):
            result = await client.call_tool(name, arguments)
            content = [block.text if block.type == "text" else block.mime_type for block in result.content]
            said["calls"].append({"error": bool(result.is_error), "content": content})
    print(json.dumps(said, ensure_ascii=False))


asyncio.run(main(*sys.argv[1:]))
