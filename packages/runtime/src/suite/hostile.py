# Run inside by the suite of the port and by a test of a plain container: tries what must not work and prints
# what came of each as one JSON object. Whether something got through is judged outside.
import ctypes, errno, glob, json, os, socket, stat, sys

given = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
found = {}


def attempt(name, act):
    try:
        answer = act()
        found[name] = answer if isinstance(answer, str) else 'through' if answer else 'held'
    except OSError as error:
        found[name] = 'refused ' + errno.errorcode.get(error.errno, str(error.errno))
    except MemoryError:
        found[name] = 'refused ENOMEM'


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


# In a process of its own, which may switch its user or be killed: returns whether the attempt succeeded.
def aside(act, uid=0):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b'held'
        try:
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            answer = b'through' if act() else b'held'
        except OSError as error:
            answer = ('refused ' + errno.errorcode.get(error.errno, '')).encode()
        except BaseException:
            answer = b'refused'
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    answer = os.read(reader, 100).decode()
    os.close(reader)
    return answer or 'ended'


def read(path):
    with open(path, 'rb') as file:
        return file.read(65536).decode('latin1')


def read_any(paths):
    text = ''
    for path in paths:
        try:
            text += read(path)
        except OSError:
            pass
    return text


# What of the host can be seen.
marker = given['marker']
attempt('read a file of the host', lambda: read_any([marker, '/proc/1/root' + marker, '/proc/self/cwd' + '/..' * 20 + marker]))


def leave_root():
    folder = '/dev/shm/root'
    os.mkdir(folder)
    os.chroot(folder)
    os.chdir('/..' * 20)
    os.chroot('.')
    return os.path.exists(marker)


attempt('leave the root through another one', lambda: aside(leave_root))
attempt('see a process of the host', lambda: read_any(glob.glob('/proc/[0-9]*/cmdline')))
attempt('see a socket of the host', lambda: read('/proc/net/unix'))


def call_host():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect('\0' + given['socket'])
        return client.recv(100).decode()


attempt('call a socket of the host', call_host)
attempt('end a process of the host', lambda: os.kill(given['pid'], 9) or 'sent')
attempt('read the boot id of the host', lambda: read('/proc/sys/kernel/random/boot_id'))


def look(path):
    return bool(os.listdir(path)) if os.path.isdir(path) else len(read(path)) > 0


for path in given['masked']:
    attempt('look at ' + path, lambda: look(path))


# What of it can be changed. A file that can be opened is not written to.
def open_for_writing(path):
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    return True


for path in given['settings']:
    attempt('write to ' + path, lambda: open_for_writing(path))
attempt('write to a program that runs', lambda: any(aside(lambda: open_for_writing(path)) == 'through' for path in glob.glob('/proc/[0-9]*/exe')))

NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000


def mount():
    return checked(libc.mount(b'x', b'/mnt', b'tmpfs', 0, b''))


attempt('mount a file system', lambda: aside(mount))
for name, flags in (('user', NEWUSER), ('mount', NEWNS), ('network', NEWNET)):
    attempt(f'make a {name} namespace', lambda: aside(lambda: checked(libc.unshare(flags))))
attempt('mount in a user namespace', lambda: aside(lambda: checked(libc.unshare(NEWUSER | NEWNS)) and mount()))



def open_disk():
    os.mknod('/dev/shm/disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))
    os.close(os.open('/dev/shm/disk', os.O_RDONLY))
    return True


attempt('open the device of a disk', open_disk)
attempt('find the device of a disk', lambda: any(stat.S_ISBLK(os.lstat(path).st_mode) for path in glob.glob('/dev/*')))

families = {'packet': 17, 'can': 29, 'tipc': 30, 'bluetooth': 31, 'alg': 38, 'vsock': 40, 'xdp': 44}
for name, family in families.items():
    for kind in (socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        attempt(f'open a {name} socket', lambda: socket.socket(family, kind).close() or True)
        if found[f'open a {name} socket'] == 'through':
            break
attempt('open a raw socket', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close() or True)

# With arguments that mean nothing: a call that says so has been looked at.
for name, number in given['calls'].items():
    answer = libc.syscall(number, -1, -1, -1, -1, -1, -1)
    number = ctypes.get_errno()
    refused = answer < 0 and number in (errno.EPERM, errno.ENOSYS)
    found['call ' + name] = 'refused' if refused else f'through {answer} {errno.errorcode.get(number, number)}'

# What an ordinary user can do to the first process, which is root's.
PTRACE_ATTACH = 16
for name, act in {
    'trace': lambda: checked(libc.ptrace(PTRACE_ATTACH, 1, 0, 0)),
    'end': lambda: os.kill(1, 0) or True,
    'read the memory map of': lambda: len(read('/proc/1/maps')) > 0,
    'read the variables of': lambda: len(read('/proc/1/environ')) > 0,
}.items():
    attempt(f'{name} the first process as a user', lambda: aside(act, uid=1000))


# How much can be taken.
def start_many():
    children = []
    try:
        for _ in range(given['processes']):
            child = os.fork()
            if child == 0:
                os.read(os.pipe()[0], 1)
            children.append(child)
        return True
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


def fill():
    written = 0
    for folder in ('/root', '/tmp'):
        try:
            with open(folder + '/big', 'wb') as file:
                while written < given['diskBytes']:
                    written += file.write(b'\1' * (1 << 20))
        except OSError:
            pass
        finally:
            if os.path.exists(folder + '/big'):
                os.unlink(folder + '/big')
    return written >= given['diskBytes']


if given['exceedsLimits'] and not given['isEndedAtLimit']:
    attempt('start too many processes', start_many)
    attempt('take too much memory', lambda: aside(lambda: len(b'\1' * given['memoryBytes']) > 0))
if given['exceedsLimits']:
    attempt('write too much', lambda: aside(fill))
print(json.dumps(found))
