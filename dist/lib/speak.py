"""Speaks to a program as editors and agents do: `initialize` of `serve` and of `mcp`, a read, and the end of the input.

    speak.py WHAT PROJECT COMMAND...
"""

import json
import pathlib
import subprocess
import sys

WHAT, PROJECT, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3:]


def say(arguments, text):
    """What the program answers to a text, with its exit code; after the text its input ends."""
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, cwd=PROJECT, timeout=120)
    return done.stdout.decode(), done.returncode


def request(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def serve():
    params = {"processId": None, "rootUri": pathlib.Path(PROJECT).as_uri(), "capabilities": {}}
    asked = [
        request(1, "initialize", params),
        '{"jsonrpc":"2.0","method":"initialized","params":{}}',
        request(2, "agent/read", {"path": "a.txt"}),
        request(3, "shutdown", None),
        '{"jsonrpc":"2.0","method":"exit"}',
    ]
    answer, code = say(["serve", "--stdio"], "".join(f"Content-Length: {len(one)}\r\n\r\n{one}" for one in asked))
    assert '"serverInfo"' in answer and "2:two" in answer, f"{WHAT}: serve answered {answer!r}"
    assert code == 0, f"{WHAT}: serve ended with {code}"


def mcp():
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [
        request(1, "initialize", params),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        request(2, "tools/call", {"name": "read", "arguments": {"path": "a.txt"}}),
    ]
    answer, code = say(["mcp"], "".join(f"{one}\n" for one in asked))
    answers = {one["id"]: one for one in map(json.loads, answer.splitlines()) if "result" in one}
    assert answers[1]["result"]["serverInfo"]["name"] == "pilcrow", f"{WHAT}: mcp answered {answer!r}"
    assert "2:two" in answers[2]["result"]["content"][0]["text"], f"{WHAT}: mcp answered {answer!r}"
    assert code == 0, f"{WHAT}: mcp ended with {code}"


serve()
mcp()
