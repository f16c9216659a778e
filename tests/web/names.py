"""A small internet for one test: names, addresses and pages of its own, and the program that asks for them.

Run as root in namespaces of its own (`unshare --net --mount`); standard input and output are the program's.
Names under `.example` have the addresses that the table tells, one answer after the other; the last one
stays. Every page says which address it was asked at, and every question and request is written to the file
that the first argument names.
"""

import fcntl
import http.server
import os
import socket
import struct
import subprocess
import sys
import threading

RECORD, RESOLV, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]

PUBLIC, OTHER, PRIVATE = "93.184.215.14", "93.184.215.15", "10.1.2.3"
LOOPBACK, METADATA = "127.0.0.1", "169.254.169.254"
NAMES = {
    "public.example": [[PUBLIC]],
    "private.example": [[PRIVATE]],
    "loopback.example": [[LOOPBACK]],
    "metadata.example": [[METADATA]],
    # One forbidden address among several.
    "split.example": [[PUBLIC, PRIVATE]],
    "split-metadata.example": [[METADATA, PUBLIC]],
    # Public when it is judged first, and then something else.
    "turns-private.example": [[PUBLIC], [PRIVATE]],
    "turns-loopback.example": [[PUBLIC], [LOOPBACK]],
    "turns-metadata.example": [[PUBLIC], [METADATA]],
    "moves.example": [[PUBLIC], [OTHER]],
}


def record(line):
    with open(RECORD, "a") as file:
        file.write(line + "\n")


def interface(name, request, payload):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        fcntl.ioctl(it, request, struct.pack("16s", name.encode()) + payload)


def bring_up():
    flags = struct.pack("H22x", 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
    interface("lo", 0x8914, flags)  # SIOCSIFFLAGS
    for number, address in enumerate([PUBLIC, OTHER, PRIVATE, METADATA]):
        own = struct.pack("HH4s16x", socket.AF_INET, 0, socket.inet_aton(address))
        interface(f"lo:{number}", 0x8916, own)  # SIOCSIFADDR


def answer_names(server):
    asked = {}
    while True:
        question, client = server.recvfrom(512)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += question[at] + 1
        name, kind = ".".join(labels).lower(), struct.unpack(">H", question[at + 1 : at + 3])[0]
        addresses = []
        if name in NAMES and kind == 1:
            answers = NAMES[name]
            count = asked[name] = asked.get(name, 0) + 1
            addresses = answers[min(count, len(answers)) - 1]
            record(f"name {name} {','.join(addresses)}")
        flags = 0x8180 if name in NAMES else 0x8183
        reply = question[:2] + struct.pack(">HHHHH", flags, 1, len(addresses), 0, 0)
        reply += question[12 : at + 5]
        for address in addresses:
            reply += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
        server.sendto(reply, client)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        at, host = self.connection.getsockname()[0], self.headers["Host"]
        record(f"page {at} {host}{self.path}")
        if self.path.startswith("/again"):
            # A new connection has to ask for the name again.
            self.send_response(302)
            self.send_header("Location", "/end")
            self.send_header("Connection", "close")
            self.end_headers()
            return
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.path[4:]}/")
            self.send_header("Connection", "close")
            self.end_headers()
            return
        if self.path.startswith("/names/"):
            self.name_elsewhere(self.path[7:])
            return
        body = f"asked at {at}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def name_elsewhere(self, host):
        """A page with little to read, which names another host by every way there is."""
        body = f"""<html><head><title>Names</title>
<meta http-equiv="refresh" content="1; url=http://{host}/refreshed">
<link rel="alternate" type="text/markdown" href="http://{host}/page.md">
<link rel="alternate" type="application/rss+xml" href="http://{host}/feed.xml">
<link rel="canonical" href="http://{host}/canonical"><script src="http://{host}/x.js"></script>
</head><body><p><a href="http://{host}/paper.pdf">The paper (PDF)</a></p>
<img src="http://{host}/x.png"><script>{"x();" * 4000}</script></body></html>""".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Link", f'<http://{host}/linked.md>; rel="alternate"; type="text/markdown"')
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    bring_up()
    with open(RESOLV, "w") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    subprocess.run(["mount", "--bind", RESOLV, "/etc/resolv.conf"], check=True)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((LOOPBACK, 53))
    threading.Thread(target=answer_names, args=(names,), daemon=True).start()
    pages = http.server.ThreadingHTTPServer(("0.0.0.0", 80), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    sys.exit(subprocess.run(PROGRAM).returncode)


if __name__ == "__main__":
    main()
