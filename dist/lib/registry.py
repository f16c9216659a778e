"""Serves npm tarballs as a registry would, on the loopback of the network namespace it is started in, while a command runs.

    registry.py TARBALL... -- COMMAND...

So npm itself decides which of the platforms' packages are for this machine. The registry is at port 4873.
"""

import base64
import fcntl
import hashlib
import http.server
import json
import pathlib
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import urllib.parse

END = sys.argv.index("--")
TARBALLS = {file.name: file for file in map(pathlib.Path, sys.argv[1:END])}
HERE = "http://127.0.0.1:4873"


def documents():
    """What is known of each package, by its name."""
    found = {}
    for name, file in TARBALLS.items():
        with tarfile.open(file) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
        manifest["dist"] = {"tarball": f"{HERE}/-/{name}", "integrity": f"sha512-{digest}"}
        version = manifest["version"]
        found[manifest["name"]] = {
            "name": manifest["name"],
            "dist-tags": {"latest": version},
            "versions": {version: manifest},
        }
    return found


DOCUMENTS = documents()


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path).lstrip("/")
        body = None
        if path.startswith("-/") and path[2:] in TARBALLS:
            body = TARBALLS[path[2:]].read_bytes()
        elif path in DOCUMENTS:
            body = json.dumps(DOCUMENTS[path]).encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


# A new namespace has its loopback, but down: SIOCSIFFLAGS with IFF_UP.
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as up:
    fcntl.ioctl(up, 0x8914, struct.pack("16sh14x", b"lo", 1))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 4873), Registry)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.exit(subprocess.run(sys.argv[END + 1 :]).returncode)
