# Plays name servers and other servers of the internet, and prints a line for whatever arrives.
import socket, sys, threading

RECORDS = {
    "api.example.com": ["1.2.3.5"],
    "host.example.com": ["5.6.7.1", "10.77.0.1"],
    "neighbour.example.com": ["5.6.7.2"],
    "metadata.example.com": ["169.254.169.254"],
    "sandbox.example.com": ["10.201.0.2", "10.201.255.254"],
}

def say(*words): print(*words, flush=True)

def answer(query):
    labels, at = [], 12
    while size := query[at]:
        labels.append(query[at + 1:at + 1 + size].decode("latin1")); at += 1 + size
    name = ".".join(labels)
    say("dns", name, int.from_bytes(query[at + 1:at + 3], "big"))
    found = RECORDS.get(name)
    head = query[:2] + (b"\x81\x80" if found else b"\x81\x83") + b"\0\1" + len(found or []).to_bytes(2, "big") + bytes(4)
    records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(one) for one in found or [])
    return head + query[12:at + 5] + records

def datagrams(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((address, port))
    while True:
        data, peer = s.recvfrom(4096)
        if address == "1.2.3.53" and port == 53: s.sendto(answer(data), peer)
        else: say("udp", port)

def connections(port):
    def serve(s):
        try:
            while data := s.recv(65536):
                say("tcp", port, s.getsockname()[0], data.split(b"\r\n")[0][:40])
                for line in data.split(b"\r\n"):
                    if line.lower().startswith(b"host:"):
                        say("host", line.decode())
                        s.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        except OSError: pass
        finally: s.close()
    listener = socket.create_server(("1.2.3.5", port) if port == 80 else ("0.0.0.0", port), backlog=500)
    while True:
        s, _ = listener.accept()
        say("accepted", port, s.getsockname()[0])
        threading.Thread(target=serve, args=(s,), daemon=True).start()

for place in [("1.2.3.53", 53), ("8.8.8.8", 53), ("1.2.3.5", 443), ("1.2.3.5", 123)]:
    threading.Thread(target=datagrams, args=place, daemon=True).start()
for port in [53, 443, 853, 8443]:
    threading.Thread(target=connections, args=(port,), daemon=True).start()
import time; time.sleep(0.5)
say("up")
threading.Event().wait()
