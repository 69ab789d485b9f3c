"""Serves a page at each path, keeps what it was asked in /tmp/seen-PORT, and answers WebSocket messages of up to 125 bytes with themselves."""

import base64
import hashlib
import http.server
import json
import sys

PORT = int(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(f"/tmp/seen-{PORT}", "a") as seen:
            line = {"method": self.command, "path": self.path, "headers": dict(self.headers)}
            seen.write(json.dumps(line) + "\n")
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.echo()
        page = f"<!doctype html><title>page of {PORT}</title><h1>served</h1>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

    def echo(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            first, length = self.rfile.read(2)
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length & 127)))
            self.wfile.write(bytes([first, len(data)]) + data)
            if first & 15 == 8:
                return


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
print("listening", flush=True)
server.serve_forever()
