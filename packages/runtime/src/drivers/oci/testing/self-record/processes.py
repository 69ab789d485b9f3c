# Processes and threads whose settings are other than usual, and what they are.
import ctypes, os, platform, resource, signal, struct, threading, time

# linux/prctl.h
DEATH_SIGNAL, DUMPABLE, KEEP_CAPS, SECURE_BITS, TIMER_SLACK, NO_NEW_PRIVS, NO_THP, AMBIENT, FLUSHER, MACHINE_CHECK = 1, 3, 8, 28, 29, 38, 41, 47, 57, 33
NUMBERS = dict(ioprio_set=251, ioprio_get=252, sched_setattr=314, sched_getattr=315, personality=135, set_mempolicy=238, get_mempolicy=239, get_robust_list=274)
if platform.machine() == 'aarch64':
    NUMBERS = dict(ioprio_set=30, ioprio_get=31, sched_setattr=274, sched_getattr=275, personality=92, set_mempolicy=237, get_mempolicy=236, get_robust_list=100)
# What changes by itself, or with the next process that is started.
RESTLESS = ('State', 'Vm', 'Rss', 'Huge', 'voluntary', 'nonvoluntary', 'FDSize')


def attempt(act):
    try:
        return act()
    except (OSError, ValueError) as error:
        return str(error)


def hold(libc, held):
    def tune(nice, policy=None):
        attempt(lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]))
        libc.prctl(TIMER_SLACK, 1234567, 0, 0, 0)
        libc.syscall(NUMBERS['ioprio_set'], 1, 0, 2 << 13 | 6)
        attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, nice))
        if policy is not None:
            attempt(lambda: os.sched_setscheduler(0, policy, os.sched_param(0)))

    # In threads, it must be no thread of the others.
    def run(name, *args):
        libc.prctl(15, name.encode(), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGRTMIN + 3])
        tune(*args)
        ready.release()
        time.sleep(100000)

    def begin(name, act):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            for fd in held.values():
                try:
                    os.close(fd)
                except OSError:
                    pass
            signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTERM])
            libc.prctl(15, name.encode(), 0, 0, 0)
            act()
            os.write(w, b'x')
            while True:
                signal.pause()
        os.close(w)
        os.read(r, 1)
        os.close(r)
        people[name] = pid

    def confine():
        os.setsid()
        for number in (6, 7, 12):
            libc.prctl(24, number, 0, 0, 0)
        libc.prctl(DEATH_SIGNAL, 12, 0, 0, 0)
        libc.prctl(FLUSHER, 1, 0, 0, 0)
        libc.prctl(NO_THP, 1, 0, 0, 0)
        libc.prctl(MACHINE_CHECK, 1, 1, 0, 0)
        libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        os.setgroups([7, 8, 9])
        libc.prctl(SECURE_BITS, 0x3, 0, 0, 0)
        libc.setfsuid(1000)
        os.setresgid(1000, 1001, 1002)
        libc.prctl(KEEP_CAPS, 1, 0, 0, 0)
        os.setresuid(1000, 1001, 1002)
        libc.prctl(DUMPABLE, 1, 0, 0, 0)

    def write(path, text):
        attempt(lambda: open(path, 'w').write(text))

    def change():
        os.setpgid(0, 0)
        libc.personality(0x0040000)
        libc.syscall(NUMBERS['set_mempolicy'], 1, ctypes.byref(ctypes.c_ulong(1)), 64)
        write('/proc/self/coredump_filter', '0x7f')
        write('/proc/self/autogroup', '9')
        write('/proc/self/oom_score_adj', '777')
        write('/proc/self/loginuid', '1000')
        for kind in range(16):
            soft, hard = attempt(lambda: resource.getrlimit(kind)) or (0, 0)
            if kind not in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_RTTIME):
                attempt(lambda: resource.setrlimit(kind, (60 if hard < 0 or hard > 60 else hard, hard)))
        os.umask(0o123)
        signal.setitimer(signal.ITIMER_REAL, 100000, 7)
        signal.setitimer(signal.ITIMER_VIRTUAL, 100000, 8)
        signal.setitimer(signal.ITIMER_PROF, 100000, 9)
        for clock in (0, 1, 7):
            libc.timer_create(clock, None, ctypes.byref(ctypes.c_void_p()))
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, lambda *_: None)
        signal.siginterrupt(signal.SIGHUP, False)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGRTMIN + 4])
        os.kill(os.getpid(), signal.SIGUSR2)
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGRTMIN + 4)
        libc.prctl(15, b'changed (a) b', 0, 0, 0)
        tune(3, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK)

    people, ready = {'main': os.getpid()}, threading.Semaphore(0)
    threads = [('one', 7), ('two', 11, os.SCHED_IDLE), ('three', 0, os.SCHED_BATCH)]
    begin('confined', confine)
    begin('changed', change)
    begin('ended', lambda: None)
    os.kill(people['ended'], signal.SIGKILL)
    begin('rooted', lambda: os.chroot('/root/folder'))
    for thread in threads:
        threading.Thread(target=run, args=thread, daemon=True).start()
        ready.acquire()
    libc.syscall(NUMBERS['set_mempolicy'], 1, ctypes.byref(ctypes.c_ulong(1)), 64)
    return people


def visit_thread(libc, title, pid, tid, read):
    base = '/proc/%d/task/%d/' % (pid, tid)
    for line in read(base + 'status').split('\n'):
        what, _, value = line.partition(':')
        if not what.startswith(RESTLESS):
            yield '%s status %s' % (title, what), value.split()
    fields = read(base + 'stat').rpartition(')')[2].split()
    # proc_pid_stat(5), from the third field on.
    for what, number in dict(parent=4, group=5, session=6, terminal=7, foreground=8, priority=18, nice=19, exit_signal=38, realtime=40, policy=41, code=26, stack=28).items():
        if len(fields) > number - 3:
            yield '%s stat %s' % (title, what), fields[number - 3]
    yield '%s comm' % title, read(base + 'comm')
    yield '%s timer slack' % title, read('/proc/%d/timerslack_ns' % tid)
    yield '%s io priority' % title, libc.syscall(NUMBERS['ioprio_get'], 1, tid)
    yield '%s affinity' % title, attempt(lambda: sorted(os.sched_getaffinity(tid)))
    buffer = ctypes.create_string_buffer(64)
    libc.syscall(NUMBERS['sched_getattr'], tid, buffer, 64, 0)
    yield '%s scheduling' % title, buffer.raw.hex()


def visit(libc, people, read):
    for name, pid in people.items():
        title = 'process %s' % name
        yield title + ' started', read('/proc/%d/stat' % pid).rpartition(')')[2].split()[19]
        for what in ['cmdline', 'environ', 'limits', 'oom_score_adj', 'coredump_filter', 'personality', 'autogroup', 'loginuid', 'sessionid', 'auxv', 'cgroup', 'projid_map']:
            text = read('/proc/%d/%s' % (pid, what))
            yield '%s %s' % (title, what), text.split('#')[-1] if what == 'autogroup' else text
        for what in ['cwd', 'root', 'exe']:
            yield '%s %s' % (title, what), attempt(lambda: os.readlink('/proc/%d/%s' % (pid, what)))
        # Without the pointers to memory, and the time that is left of a timer.
        yield title + ' timers', read('/proc/%d/timers' % pid)
        # The sentry shows no threads of a process that has ended.
        threads = attempt(lambda: sorted(map(int, os.listdir('/proc/%d/task' % pid))))
        for number, tid in enumerate(threads if isinstance(threads, list) else []):
            yield from visit_thread(libc, '%s thread %d' % (title, number), pid, tid, read)
    for what, number in dict(pdeathsig=2, dumpable=3, keepcaps=7, timing=13, secure=27, slack=30, mce=34, subreaper=37, thp=42, mdwe=66, tsc=25).items():
        value = ctypes.c_int(-1)
        result = libc.prctl(number, ctypes.byref(value) if what in ('pdeathsig', 'subreaper', 'tsc') else 0, 0, 0, 0)
        yield 'prctl %s' % what, [result, value.value]
    yield 'ids', [os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0), os.getresuid(), os.getresgid(), os.getgroups()]
    policy = ctypes.c_int(-1)
    libc.syscall(NUMBERS['get_mempolicy'], ctypes.byref(policy), None, 0, None, 0)
    yield 'memory policy', policy.value
