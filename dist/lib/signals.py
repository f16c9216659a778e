"""What a launcher owes the program behind it: signals, exit codes, and the end when the input ends.

    signals.py SCRATCH LAUNCHER

Node of 22.15 and later puts the program in the place of the launcher; both ways are tried.
"""

import os
import signal
import subprocess
import sys

SCRATCH, LAUNCHER = sys.argv[1], sys.argv[2]
BESIDE = os.path.join(SCRATCH, "beside.cjs")
SERVE = [LAUNCHER, "serve", "--stdio"]
with open(BESIDE, "w") as file:
    file.write("process.execve = undefined;\n")


def started(environment):
    return subprocess.Popen(SERVE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment})


def initialized(process):
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"Content-Length:")


for environment in [{}, {"NODE_OPTIONS": f"--require={BESIDE}"}]:
    # Without `shutdown` an end is no orderly one: 1.
    process = started(environment)
    initialized(process)
    process.stdin.close()
    assert process.wait(timeout=30) == 1, "the end of the input"
    for number in [signal.SIGTERM, signal.SIGINT]:
        process = started(environment)
        initialized(process)
        process.send_signal(number)
        code = process.wait(timeout=30)
        assert code in (0, 1, 128 + number, -number), f"signal {number}: {code}"
    failed = subprocess.run([LAUNCHER, "read", "no/such/file"], stderr=subprocess.PIPE, env={**os.environ, **environment})
    assert failed.returncode == 1, failed
