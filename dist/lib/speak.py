"""Speaks to a program as editors and agents do: `initialize` of `serve` and of `mcp`, a read, and the end.

    speak.py WHAT PROJECT COMMAND...
"""

import json
import pathlib
import subprocess
import sys

WHAT, PROJECT, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3:]


class Framed:
    """How editors speak: the LSP base protocol."""

    def write(self, out, body):
        out.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def read(self, source):
        length = None
        while line := source.readline().strip():
            name, value = line.split(b":")
            length = int(value) if name == b"Content-Length" else length
        return source.read(length) if length else b""


class Lines:
    """How agents speak: MCP over stdio."""

    def write(self, out, body):
        out.write(body + b"\n")

    def read(self, source):
        return source.readline()


class Talk:
    def __init__(self, arguments, form):
        command = [*COMMAND, *arguments]
        self.form, self.number = form, 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT)

    def tell(self, method, **more):
        self.form.write(self.process.stdin, json.dumps({"jsonrpc": "2.0", "method": method, **more}).encode())
        self.process.stdin.flush()

    def ask(self, method, params):
        """The result; what the program says or asks meanwhile is passed over."""
        self.number += 1
        self.tell(method, id=self.number, params=params)
        while body := self.form.read(self.process.stdout):
            message = json.loads(body)
            if message.get("id") == self.number and "method" not in message:
                assert "result" in message, f"{WHAT}: {method} was answered {message}"
                return message["result"]
        raise AssertionError(f"{WHAT}: {method} was never answered")

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        assert code == 0, f"{WHAT} ended with {code}"


editor = Talk(["serve", "--stdio"], Framed())
root = pathlib.Path(PROJECT).as_uri()
answer = editor.ask("initialize", {"processId": None, "rootUri": root, "capabilities": {}})
assert answer["serverInfo"]["name"] == "pilcrow", answer
editor.tell("initialized", params={})
answer = editor.ask("agent/read", {"path": "a.txt"})
assert "2:two" in answer["content"][0]["text"], answer
editor.ask("shutdown", None)
editor.tell("exit")
editor.end()

agent = Talk(["mcp"], Lines())
client = {"name": "test", "version": "1"}
answer = agent.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
assert answer["serverInfo"]["name"] == "pilcrow", answer
agent.tell("notifications/initialized")
answer = agent.ask("tools/call", {"name": "read", "arguments": {"path": "a.txt"}})
assert "2:two" in answer["content"][0]["text"], answer
agent.end()
