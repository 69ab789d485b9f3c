# Holds what a process can have in a state that is not the usual one, and writes down all that it sees of itself for each /tmp/record/ask-NAME.
import ctypes, fcntl, glob, json, os, pty, select, signal, struct, sys, termios, time

sys.path.insert(0, os.path.dirname(__file__))
import processes, sockets

is_sentry = sys.argv[1] == 'gvisor'
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p


def attempt(act):
    """What a kernel does not have is not there before and after."""
    try:
        return act()
    except (OSError, ValueError, AttributeError) as error:
        return 'failed: %s' % getattr(error, 'errno', error)


# Files and other descriptors
os.mkdir('/tmp/record')
os.chdir('/root')
os.makedirs('folder/below')
open('/root/file', 'w').write('kept' * 2000)
attempt(lambda: os.setxattr('/root/file', 'user.note', b'kept'))
os.symlink('file', '/root/link')
os.mkfifo('/root/fifo')
os.umask(0o027)
held = {}


def hold(name, act):
    fd = attempt(act)
    if isinstance(fd, int):
        held[name] = fd


def of_file(flags, path='/root/file'):
    fd = os.open(path, flags)
    os.lseek(fd, 1234, os.SEEK_SET)
    return fd


hold('read', lambda: of_file(os.O_RDONLY))
hold('append', lambda: of_file(os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
hold('synced', lambda: of_file(os.O_RDWR | os.O_SYNC | os.O_NOATIME))
hold('direct', lambda: of_file(os.O_RDWR | os.O_DIRECT))
hold('folder', lambda: os.open('/root/folder', os.O_RDONLY | os.O_DIRECTORY))
hold('path', lambda: os.open('/root/file', os.O_PATH))
hold('fifo', lambda: os.open('/root/fifo', os.O_RDWR | os.O_NONBLOCK))
hold('shared memory', lambda: of_file(os.O_RDWR | os.O_CREAT, '/dev/shm/file'))
hold('null', lambda: os.open('/dev/null', os.O_RDWR))
hold('proc', lambda: os.open('/proc/self/status', os.O_RDONLY))
hold('sys', lambda: os.open('/proc/sys/kernel/ostype', os.O_RDONLY))
if not is_sentry:
    hold('nameless', lambda: os.open('/root', os.O_RDWR | os.O_TMPFILE))
    hold('removed', lambda: of_file(os.O_RDWR | os.O_CREAT, '/root/removed'))
    os.unlink('/root/removed')
hold('in memory', lambda: os.memfd_create('kept', os.MFD_ALLOW_SEALING))
os.ftruncate(held['in memory'], 100)
attempt(lambda: fcntl.fcntl(held['in memory'], fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK))
held['pipe'], held['pipe end'] = os.pipe2(os.O_NONBLOCK)
attempt(lambda: fcntl.fcntl(held['pipe'], fcntl.F_SETPIPE_SZ, 8192))
os.write(held['pipe end'], b'kept')
hold('event', lambda: os.eventfd(7, os.EFD_SEMAPHORE | os.EFD_NONBLOCK))
hold('signals', lambda: libc.signalfd(-1, ctypes.byref(ctypes.c_uint64(1 << 11)), 0o4000))
hold('process', lambda: os.pidfd_open(os.getpid()))
hold('watch', lambda: libc.inotify_init1(0o4000))
libc.inotify_add_watch(held['watch'], b'/root/folder', 2)
hold('timer', lambda: libc.timerfd_create(1, 0o4000))
libc.timerfd_settime(held['timer'], 0, struct.pack('qqqq', 100000, 0, 100000, 0), None)
held['terminal'], held['terminal end'] = pty.openpty()
fcntl.ioctl(held['terminal'], termios.TIOCSWINSZ, struct.pack('HHHH', 33, 77, 330, 770))
modes = termios.tcgetattr(held['terminal end'])
modes[3] &= ~termios.ECHO
termios.tcsetattr(held['terminal end'], termios.TCSANOW, modes)
held.update(sockets.hold())
epoll = select.epoll()
epoll.register(held['pipe'], 1)
epoll.register(held['event'], 1 | 1 << 31)
held['epoll'] = epoll.fileno()
fcntl.flock(held['read'], fcntl.LOCK_SH)
for owner in ('pipe', 'udp'):
    attempt(lambda: fcntl.fcntl(held[owner], fcntl.F_SETOWN, os.getpid()))
    attempt(lambda: fcntl.fcntl(held[owner], fcntl.F_SETSIG, 12))
attempt(lambda: fcntl.fcntl(held['append'], 1036, struct.pack('Q', 3)))
attempt(lambda: fcntl.fcntl(held['folder'], fcntl.F_NOTIFY, 0))
for name in list(held)[::3]:
    os.set_inheritable(held[name], True)

# Memory
areas = {}
SHARED, PRIVATE, ANONYMOUS = 1, 2, 0x20
# linux/mman.h
for name, flags, advice in [
    ('private', PRIVATE, None), ('shared', SHARED, None), ('no reserve', PRIVATE | 0x4000, None), ('down', PRIVATE | 0x100, None),
    ('dont fork', PRIVATE, 10), ('merged', PRIVATE, 12), ('huge', PRIVATE, 14), ('no huge', PRIVATE, 15), ('dont dump', PRIVATE, 16),
    ('wiped', PRIVATE, 18), ('random', PRIVATE, 1), ('sequential', PRIVATE, 2),
]:
    address = libc.mmap(None, ctypes.c_size_t(16384), 3, flags | ANONYMOUS, -1, ctypes.c_long(0))
    if advice is not None:
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(16384), advice)
    areas[address] = name
for name, how in [('locked', None), ('locked on fault', 1)]:
    address = libc.mmap(None, ctypes.c_size_t(16384), 3, SHARED | ANONYMOUS, -1, ctypes.c_long(0))
    if how is None:
        libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(16384))
    else:
        libc.mlock2(ctypes.c_void_p(address), ctypes.c_size_t(16384), how)
    areas[address] = name
for name, fd, flags in [('file', held['read'], PRIVATE), ('file in memory', held['in memory'], SHARED)]:
    areas[libc.mmap(None, ctypes.c_size_t(4096), 1, flags, fd, ctypes.c_long(0))] = name

# Objects of System V
IPC_CREAT, SEM_UNDO, SETVAL, GETVAL = 0o1000, 0x1000, 16, 12
segment, queue, semaphores = libc.shmget(77, 8192, IPC_CREAT | 0o600), libc.msgget(77, IPC_CREAT | 0o640), libc.semget(77, 1, IPC_CREAT | 0o600)
libc.msgsnd(queue, struct.pack('l', 5) + b'kept', 4, 0)
undoer = None


def begin_undo():
    """A process that holds a semaphore and gives it back when it ends."""
    global undoer
    libc.semctl(semaphores, 0, SETVAL, 1)
    undoer = os.fork()
    if undoer == 0:
        libc.semop(semaphores, struct.pack('Hhh', 0, -1, SEM_UNDO), 1)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.pause()
        os._exit(0)
    while libc.semctl(semaphores, 0, GETVAL) != 0:
        time.sleep(0.01)


def end_undo():
    os.kill(undoer, signal.SIGKILL)
    os.waitpid(undoer, 0)
    return libc.semctl(semaphores, 0, GETVAL)


begin_undo()
people = processes.hold(libc, held)


def read(path, size=65536):
    try:
        with open(path, 'rb') as file:
            return file.read(size).decode('latin1').strip()
    except OSError as error:
        return 'failed: %s' % error.errno


def visit_files():
    for path in ['/', '/root', '/root/file', '/root/link', '/root/fifo', '/root/folder', '/etc/hostname', '/etc/hosts', '/etc/resolv.conf', '/etc/passwd',
                 '/dev/shm', '/dev/shm/file', '/dev/null', '/dev/tty', '/dev/pts', '/sys', '/run', '/usr/bin/python3']:
        def look():
            one = os.lstat(path)
            yield 'what', [oct(one.st_mode), one.st_uid, one.st_gid, one.st_nlink, one.st_size, one.st_rdev, one.st_blocks]
            yield 'device', one.st_dev
            yield 'number', one.st_ino
            yield 'times', [one.st_mtime_ns, one.st_ctime_ns]
            yield 'attributes', [[name, os.getxattr(path, name, follow_symlinks=False).hex()] for name in os.listxattr(path, follow_symlinks=False)]
            yield 'system', [os.statvfs(path).f_bsize, os.statvfs(path).f_blocks, os.statvfs(path).f_flag, os.statvfs(path).f_namemax]
        try:
            for what, value in look():
                yield 'file %s %s' % (path, what), value
        except OSError as error:
            yield 'file %s failed' % path, error.errno


def visit_descriptors():
    commands = dict(flags=fcntl.F_GETFL, inherited=fcntl.F_GETFD, owner=fcntl.F_GETOWN, signal=fcntl.F_GETSIG, lease=fcntl.F_GETLEASE, pipe=fcntl.F_GETPIPE_SZ, seals=1034)
    for name, fd in held.items():
        target = attempt(lambda: os.readlink('/proc/self/fd/%d' % fd))
        yield 'fd %s target' % name, target.split(':[')[0]
        one = os.fstat(fd)
        yield 'fd %s what' % name, [oct(one.st_mode), one.st_uid, one.st_gid, one.st_nlink, one.st_size, one.st_rdev]
        yield 'fd %s number' % name, [one.st_dev, one.st_ino]
        yield 'fd %s times' % name, [one.st_mtime_ns, one.st_ctime_ns]
        for what, command in commands.items():
            yield 'fd %s %s' % (name, what), attempt(lambda: fcntl.fcntl(fd, command))
        for what, command in dict(hint=1035, file_hint=1037).items():
            yield 'fd %s %s' % (name, what), attempt(lambda: fcntl.fcntl(fd, command, bytes(8)).hex())
        for line in read('/proc/self/fdinfo/%d' % fd).split('\n'):
            what, _, value = line.partition(':')
            words = [word for word in value.split() if not word.startswith(('ino:', 'sdev:', 'fhandle', 'f_handle'))]
            if what == 'it_value':
                words = [str(int(value.strip(' ()').split(',')[0]) // 1000)] if is_sentry else ['runs' if value.strip() != '(0, 0)' else 'stopped']
            # A line for each descriptor that an epoll waits for, in no order.
            yield 'fd %s info %s' % (name, 'tfd ' + words[0] if what == 'tfd' else what), words
    yield 'terminal modes', [str(mode) for mode in termios.tcgetattr(held['terminal end'])]
    yield 'terminal size', struct.unpack('HHHH', fcntl.ioctl(held['terminal end'], termios.TIOCGWINSZ, bytes(8)))[:2]
    yield 'terminal pixels', struct.unpack('HHHH', fcntl.ioctl(held['terminal end'], termios.TIOCGWINSZ, bytes(8)))[2:]


def visit_memory():
    name = None
    for line in read('/proc/self/smaps', 1 << 24).split('\n'):
        words = line.split()
        if words and '-' in words[0] and not words[0].endswith(':'):
            name = areas.get(int(words[0].split('-')[0], 16))
            if name:
                yield 'memory %s place' % name, words[:3]
                yield 'memory %s file' % name, words[5:]
                yield 'memory %s number' % name, words[3:5]
        elif name and words and words[0] == 'VmFlags:':
            yield 'memory %s flags' % name, sorted(word for word in words[1:] if word not in ('sd', 'ac'))


def visit_kernel():
    # Of the host, or other at every look.
    restless = ('/proc/sys/fs/', '/proc/sys/kernel/random/uuid', '/proc/sys/kernel/pty/nr')
    for path in sorted(glob.glob('/proc/sys/**', recursive=True)):
        if os.path.isfile(path) and not path.startswith(restless):
            yield 'sysctl %s' % path[10:], read(path)
    for line in read('/proc/self/mountinfo').split('\n'):
        before, _, after = line.partition(' - ')
        words = before.split()
        yield 'mount %s what' % words[4], [words[3], words[5:], after]
        yield 'mount %s number' % words[4], words[:3]
    for name in ['cgroup', 'uid_map', 'gid_map', 'setgroups']:
        yield 'namespace %s' % name, read('/proc/self/' + name)
    for name in sorted(os.listdir('/proc/self/ns')):
        yield 'namespace %s number' % name, os.readlink('/proc/self/ns/' + name)
    yield 'uname', list(os.uname())
    for name in sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys/class/net') else []:
        for what in ['address', 'mtu', 'flags', 'tx_queue_len', 'operstate', 'ifindex', 'carrier']:
            yield 'interface %s %s' % (name, what), read('/sys/class/net/%s/%s' % (name, what))
    for name in ['route', 'if_inet6', 'igmp', 'igmp6']:
        for number, line in enumerate(read('/proc/net/' + name).split('\n')):
            yield 'net %s %d' % (name, number), line
    for name in ['shm', 'msg', 'sem']:
        lines = read('/proc/sysvipc/' + name).split('\n')
        titles = lines[0].split()
        for line in lines[1:]:
            for title, value in zip(titles, line.split()):
                if title not in ('rss', 'swap'):
                    yield 'system v %s %s' % (name, title), value
    yield 'cpus', [os.cpu_count(), read('/sys/devices/system/cpu/online'), read('/proc/meminfo').split('\n')[0]]
    for name in ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf']:
        yield 'name %s' % name, read(name)
    addresses = sorted(set(line.split()[-1] for line in read('/proc/net/fib_trie').split('\n') if '|--' in line))
    yield 'net addresses', addresses


clocks = {}


def visit_clocks():
    for name in ['REALTIME', 'MONOTONIC', 'BOOTTIME', 'TAI', 'MONOTONIC_RAW']:
        now = attempt(lambda: time.clock_gettime(getattr(time, 'CLOCK_' + name)))
        if isinstance(now, str):
            continue
        yield 'clock %s goes back' % name, now < clocks.get(name, 0)
        clocks[name] = now


def record(name):
    found = {}
    for visit in [visit_files, visit_descriptors, visit_memory, visit_kernel, visit_clocks, lambda: sockets.visit(held), lambda: processes.visit(libc, people, read)]:
        for key, value in visit():
            found[key] = value if isinstance(value, str) else json.dumps(value)
    found['system v undone'] = str(end_undo())
    begin_undo()
    with open('/tmp/record/new', 'w') as file:
        json.dump(found, file)
    os.rename('/tmp/record/new', '/tmp/record/' + name)


open('/tmp/record/ready', 'w').write('x')
while True:
    for path in glob.glob('/tmp/record/ask-*'):
        os.unlink(path)
        record(path.split('-', 1)[1])
    time.sleep(0.02)
