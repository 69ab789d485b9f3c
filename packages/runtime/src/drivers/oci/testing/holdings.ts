/** What a program holds over a pause, in Python, and what it finds afterwards. */
export interface Holding {
  hold: string;
  check: string;
  found: string;
}

export const holdings: Record<string, Holding> = {
  'a large deleted file': {
    hold: 'f = open("a", "w+b"); f.write(b"x" * (5 << 20)); f.flush(); os.unlink("a"); f.seek(0)',
    check: 'len(f.read())',
    found: '5242880',
  },
  'a deleted file that has another name': {
    hold: 'f = open("a", "w+"); f.write("kept"); f.flush(); os.link("a", "b"); os.unlink("a"); f.seek(0)',
    check: 'f.read(), sorted(name for name in os.listdir() if name in ("a", "b") or "remap" in name)',
    found: "('kept', ['b'])",
  },
  'a lock of a file': {
    hold: 'import fcntl; f = open("a", "w"); fcntl.flock(f, fcntl.LOCK_EX); g = open("a")',
    check: 'subprocess.run(["flock", "-n", "a", "true"]).returncode',
    found: '1',
  },
  'threads, shared memory and files in memory': {
    hold: 'import mmap, threading; m = mmap.mmap(-1, 4096); m[:4] = b"kept"; fd = os.memfd_create("x"); os.write(fd, b"too"); done = threading.Event(); threading.Timer(3600, done.set).start()',
    check: 'm[:4], os.pread(fd, 3, 0), threading.active_count()',
    found: "(b'kept', b'too', 2)",
  },
  'a port that it listens on': {
    hold: 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 9000)); s.listen()',
    check: 'socket.create_connection(("127.0.0.1", 9000)).getpeername()',
    found: "('127.0.0.1', 9000)",
  },
  'locks of a process and of an open file': {
    hold: `import fcntl, struct; f = open("a", "w"); fcntl.lockf(f, fcntl.LOCK_EX); g = open("b", "w"); fcntl.fcntl(g, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
other = "import fcntl, sys\\ntry: fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\\nexcept BlockingIOError: sys.exit(7)"`,
    check: '[subprocess.run(["python3", "-c", other, name]).returncode for name in ("a", "b")]',
    found: '[7, 7]',
  },
  'unix sockets, by a path, by a name and without one': {
    hold: `import socket
def pair(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(name); c.sendall(b"first"); return c, s.accept()[0]
pairs = [pair("socket"), pair("\\0name"), socket.socketpair()]; pairs[2][0].sendall(b"first")`,
    check: '[(a.recv(5), b.sendall(b"back"), c.recv(4)) for c, b in pairs for a in [b]]',
    found: `[${Array.from({ length: 3 }, () => "(b'first', None, b'back')").join(', ')}]`,
  },
  'connections over loopback, with what is under way in them': {
    hold: `import socket
def pair(host, family=socket.AF_INET, server=socket.AF_INET):
    s = socket.create_server((host, 0), family=server, dualstack_ipv6=server != family); c = socket.socket(family); c.connect(("::1" if family == socket.AF_INET6 else "127.0.0.1", s.getsockname()[1])); a, _ = s.accept()
    c.settimeout(10); a.settimeout(10); return c, a
four, six, mixed = pair("127.0.0.1"), pair("::1", socket.AF_INET6, socket.AF_INET6), pair("::", socket.AF_INET, socket.AF_INET6)
full, half, gone = [pair("127.0.0.1") for _ in range(3)]
full[0].setblocking(False); sent = 0
try:
    while True: sent += full[0].send(b"x" * 65536)
except BlockingIOError: full[0].settimeout(10)
half[1].sendall(b"bye"); half[1].shutdown(socket.SHUT_WR)
gone[1].sendall(b"bye"); gone[1].close()
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagrams.bind(("127.0.0.1", 0)); sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); sender.connect(datagrams.getsockname())
def talk(c, a): c.sendall(b"there"); there = a.recv(9); a.sendall(b"back"); return there + c.recv(9)
def drain():
    got = 0
    while got < sent: got += len(full[1].recv(1 << 20))
    return talk(*full)
def answer(): half[0].sendall(b"more"); return half[1].recv(9)`,
    check:
      'talk(*four), talk(*six), talk(*mixed), drain(), half[0].recv(9), half[0].recv(9), answer(), gone[0].recv(9), gone[0].recv(9), sender.send(b"one"), datagrams.recv(9)',
    found:
      "(b'thereback', b'thereback', b'thereback', b'thereback', b'bye', b'', b'more', b'bye', b'', 3, b'one')",
  },
  // A new connection may have been refused before.
  'whatever has an end outside as sockets that are not connected': {
    hold: `import errno, socket
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asked.connect(("1.1.1.1", 9)); own = asked.getsockname()[0]
s = socket.create_server((own, 0)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
# The peer may have refused before the dump.
begun = socket.socket(); begun.setblocking(False); begun.connect_ex(("1.1.1.1", 81))
waiting = socket.create_server(("127.0.0.1", 0)); sent_away = socket.create_connection(waiting.getsockname())
def fails(act):
    try: return act()
    except OSError as error: return errno.errorcode[error.errno]`,
    check:
      'fails(lambda: asked.send(b"x")), *[fails(lambda: one.recv(1)) for one in (c, a, sent_away)], fails(lambda: begun.recv(1)) in ("ENOTCONN", b""), socket.create_connection(waiting.getsockname(), 5).getpeername() == waiting.getsockname()',
    found: "('EDESTADDRREQ', 'ENOTCONN', 'ENOTCONN', 'ENOTCONN', True, True)",
  },
  'memory that may be dropped, without what was in it': {
    hold: `import ctypes; libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
DROPPABLE_ANONYMOUS = 0x28; address = libc.mmap(None, ctypes.c_size_t(4096), 3, DROPPABLE_ANONYMOUS, -1, ctypes.c_long(0))
kept = (ctypes.c_char * 4096).from_address(address) if address != ctypes.c_void_p(-1).value else ctypes.create_string_buffer(4096)
if address != ctypes.c_void_p(-1).value: kept.value = b"secret"`,
    check: 'kept.value',
    found: "b''",
  },
  'the boot id, held open, as it is now': {
    hold: 'boot_id = "/proc/sys/kernel/random/boot_id"; fd = os.open(boot_id, os.O_RDONLY); os.read(fd, 9)',
    check: 'len(os.read(fd, 99)), os.pread(fd, 99, 0).decode() == open(boot_id).read()',
    found: '(28, True)',
  },
  'folders of the kernel that are hidden, held open': {
    hold: `fds = [os.open(name, os.O_RDONLY) for name in ("/proc/acpi", "/sys/firmware")]
def fails(fd):
    try: return os.mkdir("x", dir_fd=fd)
    except OSError as error: return error.errno`,
    check: '[(os.listdir(fd), fails(fd)) for fd in fds]',
    // EROFS
    found: '[([], 30), ([], 30)]',
  },
  // linux/landlock.h: the numbers are the same on every architecture.
  'no rules of Landlock that it was under': {
    hold: `import ctypes; libc = ctypes.CDLL(None); REMOVE_DIR = ctypes.c_uint64(1 << 4); rules = libc.syscall(444, ctypes.byref(REMOVE_DIR), 8, 0)
libc.prctl(38, 1, 0, 0, 0); libc.syscall(446, rules, 0)
if rules >= 0: os.close(rules)
os.mkdir("d")
def removes():
    try: os.rmdir("d"); return True
    except PermissionError: return False
before = removes()`,
    check: 'before == (rules < 0), before or removes()',
    found: '(True, True)',
  },
  'a signal that it goes on': {
    hold: 'import signal; got = []; signal.signal(signal.SIGCONT, lambda *_: got.append(1))',
    check: 'len(got) > 0',
    found: 'True',
  },
  'sockets of ping': {
    hold: 'import socket; pings = [socket.socket(family, socket.SOCK_DGRAM, protocol) for family, protocol in ((socket.AF_INET, 1), (socket.AF_INET6, 58))]',
    check:
      'pings[0].sendto(b"\\x08" + bytes(7), ("127.0.0.1", 0)), pings[0].recv(8)[0], pings[1].family == socket.AF_INET6',
    found: '(8, 0, True)',
  },
  'watches beside those of a deleted file, and that file': {
    hold: `import ctypes; libc = ctypes.CDLL(None); watcher = libc.inotify_init1(0o4000)
def watch(name): assert libc.inotify_add_watch(watcher, name, 0x100) > 0
# Memory files are numbered from 1 on, and so are the files of a disk, and the folders of an overlay.
memories = [os.memfd_create("x") for _ in range(400)]
files = [open("gone-%d" % n, "w+") for n in range(100)]
for n in range(100): os.mkdir("there-%d" % n); watch(b"there-%d" % n); watch(b"gone-%d" % n); os.unlink("gone-%d" % n)
files[7].write("kept"); files[7].flush(); files[7].seek(0)
def touch(name): open(name, "w").close(); return True`,
    check:
      'files[7].read(), all([touch("there-%d/new" % n) for n in range(100)]), os.read(watcher, 9999).count(b"new")',
    found: "('kept', True, 100)",
  },
  'no multipath TCP, which could not be kept': {
    hold: `import errno, socket
try: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); code = 0
except OSError as error: code = error.errno`,
    check: 'code in (errno.ENOPROTOOPT, errno.EPROTONOSUPPORT, errno.EINVAL)',
    found: 'True',
  },
};
