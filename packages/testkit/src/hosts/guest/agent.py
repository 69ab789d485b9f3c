"""Runs the lab's commands in a guest. Requests and replies are JSON, one a line, over a virtio port.

Request: {"id": 1, "argv": [...], "timeout": seconds}. Replies: {"id": 1, "text": output} for each piece, in the end
{"id": 1, "exit": status}, where the status is null when the time was up. At its start it sends {"boot": boot id}.
"""

import json
import os
import signal
import subprocess
import threading
import time

PORT = "/dev/virtio-ports/skerry.lab"
lock = threading.Lock()


def send(port, message):
    data = (json.dumps(message) + "\n").encode()
    with lock:
        while data:
            data = data[os.write(port, data) :]


def run(port, request):
    number = request["id"]
    try:
        child = subprocess.Popen(
            request["argv"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        send(port, {"id": number, "text": f"{error}\n"})
        send(port, {"id": number, "exit": 127})
        return
    late = threading.Event()

    def end():
        late.set()
        os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(request["timeout"], end)
    timer.start()
    while piece := child.stdout.read1(65536):
        send(port, {"id": number, "text": piece.decode(errors="replace")})
    status = child.wait()
    timer.cancel()
    send(port, {"id": number, "exit": None if late.is_set() else status})


def main():
    port = os.open(PORT, os.O_RDWR)
    boot = open("/proc/sys/kernel/random/boot_id").read().strip()
    send(port, {"boot": boot})
    buffer = b""
    while True:
        piece = os.read(port, 65536)
        if not piece:
            # The other side has not connected yet.
            time.sleep(0.2)
            continue
        *lines, buffer = (buffer + piece).split(b"\n")
        for line in lines:
            threading.Thread(target=run, args=(port, json.loads(line)), daemon=True).start()


main()
