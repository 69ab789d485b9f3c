"""Takes the place of the agent's private channel and tells the host what it should not believe."""

import json
import os
import socket
import threading
import time

PATH = "/run/envd/control.sock"


def entry(seq, **change):
    line = {
        "seq": seq,
        "timestamp": int(time.time() * 1000),
        "level": "info",
        "logger": "process",
        "message": "forged",
        "fields": {},
    }
    return json.dumps({**line, **change}) + "\n"


def tell(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    send = lambda text: connection.sendall(text.encode())
    send('{"origin":"forger"}\n')
    send(entry(1, logger="platform", message="sandbox killed", fields={"cause": "killed"}))
    send(entry(2, message="from the past", timestamp=1))
    send(entry(3, message="from the future", timestamp=32503680000000))
    send(entry(4, message="huge " + "x" * 12000, fields={str(n): "y" * 100 for n in range(20)}))
    send("not a line\n" + '{"ask":"usage"}\n' * 50)
    send(entry(2**53, message="no number"))
    seq = 5
    while True:
        send(entry(seq, message="flood " + "z" * 900))
        seq += 1


def answer(connection):
    try:
        tell(connection)
    except OSError:
        pass


os.remove(PATH)
server = socket.socket(socket.AF_UNIX)
server.bind(PATH)
server.listen(64)
print("ready", flush=True)
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
