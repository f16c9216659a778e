"""What a launcher owes the program behind it: signals, exit codes, and the end when the input ends.

    signals.py SCRATCH PROGRAM LAUNCHER COMMAND...

COMMAND is what both are started by. Node of 22.15 and later puts the program in the place of the launcher; both ways are
tried where this one can do both.
"""

import os
import signal
import subprocess
import sys

SCRATCH, PROGRAM, LAUNCHER, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
BESIDE = os.path.join(SCRATCH, "beside.cjs")
with open(BESIDE, "w") as file:
    file.write("process.execve = undefined;\n")


def initialized(program, options):
    command = [*COMMAND, *options, program, "serve", "--stdio"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"Content-Length:")
    return process


def codes(program, options):
    """How it ends: when its input does, by each signal, and by what it was asked; a signal as shells count it."""
    process = initialized(program, options)
    process.stdin.close()
    ends = {"the end of the input": process.wait(timeout=60)}
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
        process = initialized(program, options)
        process.send_signal(number)
        ends[number.name] = process.wait(timeout=60)
    for arguments in [["--version"], ["read", "no/such/file"], ["--no-such-switch"]]:
        command = [*COMMAND, *options, program, *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        ends[" ".join(arguments)] = done.returncode
    return {what: 128 - code if code < 0 else code for what, code in ends.items()}


own = codes(PROGRAM, [])
assert own["--version"] == 0 and own["read no/such/file"] != 0, own
for options in [[], [f"NODE_OPTIONS=--require={BESIDE}"]]:
    launched = codes(LAUNCHER, options)
    assert launched == own, f"{options}: {launched}, by itself {own}"
