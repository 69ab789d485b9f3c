# Run in a sandbox by names-lab.ts: holds a TLS connection open, sends on it, and writes how it ends into a file.
import socket, ssl, sys, time

address, name, answer = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
s = context.wrap_socket(socket.create_connection((address, 443), 5), server_hostname=name)
s.recv(100)
open(answer, "w").write("open")
try:
    while True:
        s.sendall(b"held")
        time.sleep(0.05)
except OSError:
    open(answer, "w").write("ended")
