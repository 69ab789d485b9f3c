import type { Holding } from './holdings.ts';

const serve = `import socket, threading
def serve(address):
    s = socket.socket(socket.AF_UNIX); s.bind(address); s.listen()
    def run():
        while True: c, _ = s.accept(); c.sendall(b"kept"); c.close()
    threading.Thread(target=run, daemon=True).start(); return s
def read(address):
    c = socket.socket(socket.AF_UNIX); c.settimeout(9); c.connect(address)
    try: return c.recv(9)
    finally: c.close()
`;
const hold = 'f = open("d/a", "w+"); f.write("kept"); f.flush()';
const holdDeleted = `os.mkdir("d"); ${hold}; os.unlink("d/a"); os.rmdir("d")`;
const program = 'subprocess.Popen(["d/program", "1000"], start_new_session=True)';
const readFile = 'os.pread(f.fileno(), 9, 0), os.listdir()';

/** What a program holds by a path that leads elsewhere by then, and what it finds after a pause. */
export const changedPaths: Record<string, Holding> = {
  'a working folder that was removed, and one of its name with a file in it': {
    hold: 'os.mkdir("app"); top = os.getcwd(); os.chdir("app"); os.rmdir(top + "/app"); os.mkdir(top + "/app", 0o700); open(top + "/app/f", "w")',
    check: 'os.listdir(), os.listdir(top), os.listdir(top + "/app"), oct(os.stat(top + "/app").st_mode)',
    found: "([], ['app'], ['f'], '0o40700')",
  },
  'a working folder that was removed, and an empty one of its name': {
    hold: 'os.mkdir("app"); top = os.getcwd(); os.chdir("app"); os.rmdir(top + "/app"); os.mkdir(top + "/app", 0o700)',
    check: 'os.listdir(), os.listdir(top), oct(os.stat(top + "/app").st_mode)',
    found: "([], ['app'], '0o40700')",
  },
  'a working folder that was removed, and a file of its name': {
    hold: 'os.mkdir("app"); top = os.getcwd(); os.chdir("app"); os.rmdir(top + "/app"); open(top + "/app", "w").write("kept")',
    check: 'os.listdir(), os.listdir(top), open(top + "/app").read()',
    found: "([], ['app'], 'kept')",
  },
  'a working folder that was removed with the folder that it was in': {
    hold: 'os.makedirs("a/b"); top = os.getcwd(); os.chdir("a/b"); os.rmdir(top + "/a/b"); os.rmdir(top + "/a")',
    check: 'os.listdir(), os.listdir(top)',
    found: '([], [])',
  },
  'two open folders of one name that were removed, and a file in their place': {
    hold: `os.makedirs("a/b"); one = os.open("a/b", os.O_RDONLY); os.rmdir("a/b"); os.mkdir("a/b"); other = os.open("a/b", os.O_RDONLY)
os.rmdir("a/b"); os.rmdir("a"); open("a", "w")`,
    check: 'os.fstat(one).st_ino == os.fstat(other).st_ino, os.listdir(one), os.listdir(other), os.listdir()',
    found: "(False, [], [], ['a'])",
  },
  'an open folder in memory that was removed, and one of its name': {
    hold: 'os.mkdir("/dev/shm/d"); fd = os.open("/dev/shm/d", os.O_RDONLY); os.rmdir("/dev/shm/d"); os.mkdir("/dev/shm/d")',
    check: 'os.listdir(fd), os.path.isdir("/dev/shm/d")',
    found: '([], True)',
  },
  'a file that was removed with its folder, and a file of that name': {
    hold: `${holdDeleted}; open("d", "w")`,
    check: readFile,
    found: "(b'kept', ['d'])",
  },
  'a file that was removed with its folder, and a link that leads nowhere': {
    hold: `${holdDeleted}; os.symlink("/nowhere", "d")`,
    check: readFile,
    found: "(b'kept', ['d'])",
  },
  'a file that was removed with its folder, and a link to another file system': {
    hold: `${holdDeleted}; os.symlink("/dev/shm", "d")`,
    check: readFile,
    found: "(b'kept', ['d'])",
  },
  'a file with another name that was removed with its folder, and a link that leads nowhere': {
    hold: `os.mkdir("d"); ${hold}; os.link("d/a", "b"); os.unlink("d/a"); os.rmdir("d"); os.symlink("/nowhere", "d")`,
    check: 'os.pread(f.fileno(), 9, 0), os.fstat(f.fileno()).st_ino == os.stat("b").st_ino',
    found: "(b'kept', True)",
  },
  'a named pipe that was removed with its folder, and a file of that name': {
    hold: 'os.mkdir("d"); os.mkfifo("d/p"); p = os.open("d/p", os.O_RDWR); os.write(p, b"kept"); os.unlink("d/p"); os.rmdir("d"); open("d", "w")',
    check: 'os.read(p, 9), os.listdir()',
    found: "(b'kept', ['d'])",
  },
  'a mapped file that was removed with its folder, and a file of that name': {
    hold: `import mmap; os.mkdir("d"); ${hold}; m = mmap.mmap(f.fileno(), 0); f.close(); os.unlink("d/a"); os.rmdir("d"); open("d", "w")`,
    check: 'm[:], os.listdir()',
    found: "(b'kept', ['d'])",
  },
  'a program that was removed with its folder while it runs, and a file of that name': {
    hold: `os.mkdir("d"); subprocess.run(["cp", "/bin/sleep", "d/program"]); p = ${program}
while open("/proc/%d/comm" % p.pid).read() != "program\\n": time.sleep(0.02)
os.unlink("d/program"); os.rmdir("d"); open("d", "w")`,
    check: 'p.poll(), os.readlink("/proc/%d/exe" % p.pid).endswith("/program (deleted)")',
    found: '(None, True)',
  },
  'files in /proc of a process that has ended': {
    hold: 'p = subprocess.Popen(["sleep", "1000"]); fds = [os.open("/proc/%d%s" % (p.pid, name), os.O_RDONLY) for name in ("", "/stat")]; p.kill(); p.wait()',
    check: 'os.listdir(fds[0])',
    found: '[]',
  },
  'a socket that was renamed, and another at its old path': {
    hold: `${serve}
top = os.getcwd(); one = serve(top + "/s"); os.rename("s", "t"); other = serve(top + "/s")`,
    check: 'read("t"), read("s"), sorted(os.listdir())',
    found: "(b'kept', b'kept', ['s', 't'])",
  },
  'a socket in a folder that was renamed': {
    hold: `${serve}
os.mkdir("d"); s = serve(os.getcwd() + "/d/s"); os.rename("d", "e")`,
    check: 'read("e/s"), os.listdir()',
    found: "(b'kept', ['e'])",
  },
  'sockets that were bound over links, of which one leads elsewhere and one is gone': {
    hold: `${serve}
top = os.getcwd(); os.mkdir("d"); os.mkdir("e"); os.mkdir("f")
for link in "kml": os.symlink("d", link); serve(top + "/" + link + "/" + link)
os.unlink("k"); os.unlink("l"); os.symlink("e", "l")`,
    check: '[read("d/" + name) for name in "kml"], os.listdir("e")',
    found: "([b'kept', b'kept', b'kept'], [])",
  },
  'a socket whose path is longer than an address now': {
    hold: `${serve}
long = "x" * 200; os.mkdir(long); s = serve(os.getcwd() + "/s"); os.rename("s", long + "/s")`,
    check: 'os.chdir(long), read("s"), os.listdir()',
    found: "(None, b'kept', ['s'])",
  },
  'a datagram socket that was renamed': {
    hold: 'import socket; d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); d.bind(os.getcwd() + "/d"); os.rename("d", "e"); c = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)',
    check: 'c.sendto(b"kept", "e"), d.recv(9), os.listdir()',
    found: "(4, b'kept', ['e'])",
  },
  'sockets that were removed with their folders, and what took the place of these': {
    hold: `${serve}
top = os.getcwd()
for name in "ab": os.mkdir(name); serve(top + "/" + name + "/s"); os.unlink(name + "/s"); os.rmdir(name)
os.mkdir("c"); os.chdir("c"); serve("s"); os.chdir(".."); os.unlink("c/s"); os.rmdir("c")
open("a", "w"); os.symlink("/nowhere", "b")`,
    check: 'sorted(os.listdir())',
    found: "['a', 'b']",
  },
  'a connection of a socket that was renamed, and another at its old path': {
    hold: `${serve}
top = os.getcwd(); l = socket.socket(socket.AF_UNIX); l.bind(top + "/s"); l.listen(); c = socket.socket(socket.AF_UNIX); c.connect("s"); a, _ = l.accept(); os.rename("s", "t"); other = serve(top + "/s")`,
    check: 'a.send(b"here"), c.recv(9), read("s")',
    found: "(4, b'here', b'kept')",
  },
};
