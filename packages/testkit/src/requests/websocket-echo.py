"""Answers WebSocket text frames of up to 125 bytes with themselves."""

import base64
import hashlib
import socket
import sys
import threading


def serve(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
    key = {name.lower(): value for name, value in fields.items()}["sec-websocket-key"]
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
    )
    stream = connection.makefile("rb")
    while True:
        first, length = stream.read(2)
        length &= 127
        mask = stream.read(4)
        data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(length)))
        connection.sendall(bytes([first, length]) + data)
        if first & 15 == 8:
            connection.close()
            return


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening")
while True:
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
