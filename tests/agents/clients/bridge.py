#!/usr/bin/env python3
"""Puts a server that speaks over stdin and stdout behind HTTP, for the protocol's own conformance tests, which know nothing else:

    bridge.py COMMAND [ARGS…]      prints the address, serves until its stdin ends; one process of the server for each handshake
"""
import json
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    def __init__(self):
        self.process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers, self.answered = {}, threading.Condition()
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.answered:
                self.answers[json.dumps(message.get("id"))] = message
                self.answered.notify_all()

    def send(self, message):
        """Sends a message; the answer, where it has one."""
        with self.answered:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            key = json.dumps(message.get("id"))
            if "id" in message and "method" in message and self.answered.wait_for(lambda: key in self.answers, 40):
                return self.answers.pop(key)


servers = {}


class Bridge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.answer(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.headers.get("mcp-session-id") or uuid.uuid4().hex
        if session not in servers:
            servers[session] = Server()
        answer = servers[session].send(message)
        if answer is None:
            return self.answer(202)
        self.answer(200, json.dumps(answer).encode(), content_type="application/json", mcp_session_id=session)


http = ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
print(f"http://127.0.0.1:{http.server_address[1]}/mcp", flush=True)
threading.Thread(target=http.serve_forever, daemon=True).start()
sys.stdin.read()
