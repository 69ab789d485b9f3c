# Answers on the port of its argument with what no server should send, and breaks off at any point.
import random
import socket
import struct
import sys
import threading
import time

ANSWERS = [
    b"",
    b"garbage\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70000 + b"\r\n\r\n",
    b"HTTP/1.1 200 \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n" + b"z" * 300000,
    b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
    b"HTTP/1.1 204 No\r\n\r\nmore",
    b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
]


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def answer(connection):
    try:
        connection.settimeout(3)
        if random.random() < 0.8:
            connection.recv(random.choice([1, 100, 65536]))
        text = random.choice(ANSWERS)
        cut = random.randrange(len(text) + 1)
        connection.sendall(text[:cut])
        if random.random() < 0.2:
            reset(connection)
            return
        time.sleep(random.random() * 0.02)
        connection.sendall(text[cut:])
        ending = random.random()
        if ending < 0.3:
            reset(connection)
        elif ending < 0.6:
            connection.close()
        else:
            connection.recv(65536)
            answer(connection)
    except OSError:
        connection.close()


server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=500)
print("listening")
while True:
    accepted, _ = server.accept()
    threading.Thread(target=answer, args=(accepted,), daemon=True).start()
