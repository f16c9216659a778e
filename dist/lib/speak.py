"""Speaks to a program as editors and agents do: `initialize` of `serve` and of `mcp`, and the end of the input.

    speak.py WHAT SCRATCH PROGRAM...
"""

import json
import os
import subprocess
import sys

WHAT, SCRATCH, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]
HOME = os.path.join(SCRATCH, "home")
ENVIRONMENT = {"HOME": HOME, "XDG_STATE_HOME": os.path.join(HOME, "state"), "PATH": "/usr/local/bin:/usr/bin:/bin"}


def say(arguments, message):
    """What the program answers to one message, with its exit code when nothing more comes."""
    command = ["unshare", "--net", *PROGRAM, *arguments]
    project = os.path.join(SCRATCH, "project")
    done = subprocess.run(command, input=message, stdout=subprocess.PIPE, env=ENVIRONMENT, cwd=project, timeout=60)
    return done.stdout.decode(), done.returncode


def main():
    root = "file://" + os.path.join(SCRATCH, "project")
    ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "rootUri": root, "capabilities": {}}}
    body = json.dumps(ask)
    answer, _ = say(["serve", "--stdio"], f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    assert '"serverInfo"' in answer, f"{WHAT}: serve answered {answer!r}"
    client = {"name": "test", "version": "1"}
    ask["params"] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    answer, code = say(["mcp"], (json.dumps(ask) + "\n").encode())
    assert json.loads(answer.splitlines()[0])["result"]["serverInfo"]["name"] == "pilcrow", f"{WHAT}: mcp answered {answer!r}"
    assert code == 0, f"{WHAT}: mcp ended with {code}"


main()
