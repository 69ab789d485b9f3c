# Run in a sandbox by names-lab.ts: does each thing in its argument, and prints what each comes to as JSON.
import errno, json, socket, ssl, sys

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE

def lookup(name):
    return sorted({a[4][0] for a in socket.getaddrinfo(name, 80, socket.AF_INET)})

def tls(name, address=None, host=None, port=443):
    raw = socket.create_connection((address or name, port), 5)
    with context.wrap_socket(raw, server_hostname=name) as s:
        return s.recv(1000).decode()

def http(host, address=None):
    s = socket.create_connection((address or host, 80), 5)
    s.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    data = b""
    while part := s.recv(1000): data += part
    head, body = data.split(b"\r\n\r\n", 1)
    return head.decode().split(" ")[1] + " " + next(line for line in body.decode().split("\r\n") if " " in line).strip()

def tcp(address, port):
    s = socket.create_connection((address, port), 2)
    return s.recv(100).decode()

def udp(address, port, text="x"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5)
    s.connect((address, port)); s.send(text.encode())
    return s.recv(100).hex()

def attempt(what, *args):
    try: return globals()[what](*args)
    except ssl.SSLError as e: return e.reason
    except socket.gaierror as e: return "EAI " + str(e.errno)
    except TimeoutError: return "timeout"
    except OSError as e: return errno.errorcode.get(e.errno, str(e))

print(json.dumps([attempt(*one) for one in json.loads(sys.argv[1])]))
