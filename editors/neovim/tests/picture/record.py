# Types at a program in a pseudo terminal and keeps what it writes to its screen. It never changes a byte of that, and never types before the screen shows what the keys are for.
# usage: record.py COLUMNS ROWS SCREEN PROGRAM [ARGUMENT…]
import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, rows, screen = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

# What is typed, after the screen has shown what.
STEPS = [
    ("Top", ":18\roself.timer = None\x1b:Pilcrow read src/jobs.py\r"),
    ("¶", "\x17p"),
]

# A terminal answers these; Neovim waits for some of them and complains of their absence.
ANSWERS = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b[5n": b"\x1b[0n", b"\x1b[6n": b"\x1b[1;1R"}

child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8")
    os.execv(sys.argv[4], sys.argv[4:])

written = b""


def hear(seconds):
    """Whether more came within that time."""
    global written
    if not select.select([terminal], [], [], seconds)[0]:
        return False
    more = os.read(terminal, 65536)
    written += more
    for question, answer in ANSWERS.items():
        if question in more:
            os.write(terminal, answer)
    return True


def keep():
    """Keeps what is written until the screen has been still for a while."""
    global written
    while hear(0.5):
        pass
    with open(screen, "ab") as file:
        file.write(written)
    written = b""


for shown, keys in STEPS:
    while shown.encode() not in written:
        if not hear(30):
            sys.exit(f"{shown!r} was never shown: {written[-2000:]!r}")
    keep()
    os.write(terminal, keys.encode())
keep()
os.write(terminal, b":qa!\r")
try:
    while hear(30):
        pass
except OSError:
    # Linux says this way that nobody holds the other end any more.
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
