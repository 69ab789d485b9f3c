/** A filter in the form of the OCI runtime specification, as far as it is used here. */
export interface SeccompProfile {
  defaultAction: 'SCMP_ACT_ERRNO' | 'SCMP_ACT_ALLOW';
  /** The result of a call without a rule, where that is an error. */
  defaultErrnoRet?: number;
  syscalls: SeccompRule[];
}

export interface SeccompRule {
  names: readonly string[];
  action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  errnoRet?: number;
  args?: SeccompArgument[];
}

export interface SeccompArgument {
  index: number;
  value: number;
  /** The value that the argument, masked by `value`, must equal. Only SCMP_CMP_MASKED_EQ has it. */
  valueTwo?: number;
  op: 'SCMP_CMP_EQ' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
}

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const ESOCKTNOSUPPORT = 94;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

const words = (text: string): string[] => text.trim().split(/\s+/);

const files = words(`
  access chdir chmod chown chown32 chroot close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
  fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync
  fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate
  ftruncate64 futimesat getcwd getdents getdents64 getxattr getxattrat ioctl lchown lchown32 lgetxattr link linkat
  listxattr listxattrat llistxattr lremovexattr lseek _llseek lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat
  name_to_handle_at newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead
  readlink readlinkat readv removexattr removexattrat rename renameat renameat2 rmdir sendfile sendfile64 setxattr
  setxattrat splice stat stat64 statfs statfs64 statx symlink symlinkat sync sync_file_range syncfs tee truncate
  truncate64 umask unlink unlinkat utime utimensat utimensat_time64 utimes vmsplice write writev
  inotify_add_watch inotify_init inotify_init1 inotify_rm_watch
  landlock_add_rule landlock_create_ruleset landlock_restrict_self
`);

const waiting = words(`
  epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd
  eventfd2 io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit pipe pipe2 poll
  ppoll ppoll_time64 pselect6 pselect6_time64 select _newselect
`);

const memory = words(`
  brk cachestat madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mmap2
  mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_madvise
  process_mrelease remap_file_pages get_mempolicy mbind set_mempolicy set_mempolicy_home_node
`);

const processes = words(`
  arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait futex_waitv
  futex_wake get_robust_list get_thread_area getcpu getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups
  getgroups32 getitimer getpgid getpgrp getpid getppid getpriority getrandom getresgid getresgid32 getresuid
  getresuid32 getrlimit getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kcmp kill lsm_get_self_attr
  lsm_list_modules pause pidfd_getfd pidfd_open pidfd_send_signal prctl prlimit64 process_vm_readv process_vm_writev
  ptrace restart_syscall riscv_hwprobe rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
  rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
  sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
  sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
  set_robust_list set_thread_area set_tid_address setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups
  setgroups32 setitimer setpgid setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid
  setreuid32 setrlimit setsid setuid setuid32 sigaltstack signalfd signalfd4 sigprocmask sigreturn sysinfo tgkill
  time times tkill ugetrlimit uname uretprobe vfork wait4 waitid waitpid
`);

const timers = words(`
  alarm clock_adjtime clock_adjtime64 adjtimex clock_getres clock_getres_time64 clock_gettime clock_gettime64
  clock_nanosleep clock_nanosleep_time64 gettimeofday nanosleep timer_create timer_delete timer_getoverrun
  timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64
  timerfd_settime timerfd_settime64
`);

const communication = words(`
  accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64 recvmsg
  send sendmmsg sendmsg sendto setsockopt shutdown mq_getsetattr mq_notify mq_open mq_timedreceive
  mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop
  semtimedop semtimedop_time64 shmat shmctl shmdt shmget
`);

/**
 * Affect the host's kernel, or file systems regardless of their permissions. They fail as forbidden, not as missing.
 */
const forbidden = words(`
  acct add_key bpf delete_module finit_module fanotify_init fsconfig fsmount fsopen fspick init_module
  io_uring_enter io_uring_register io_uring_setup ioperm iopl kexec_file_load kexec_load keyctl lookup_dcookie
  mount mount_setattr move_mount move_pages migrate_pages nfsservctl open_by_handle_at open_tree perf_event_open
  pivot_root quotactl quotactl_fd reboot request_key setdomainname sethostname setns settimeofday clock_settime
  swapoff swapon syslog umount umount2 userfaultfd uselib ustat vhangup
`);

// linux/sched.h: every CLONE_NEW* flag but CLONE_NEWTIME. That one is a flag of unshare(2); in clone(2) its bit is part of
// the number of a signal, and must not be refused.
const NEW_NAMESPACES = 0x7e020000;
const CLONE_NEWTIME = 0x80;

const equals = (index: number, value: number): SeccompArgument => ({ index, value, op: 'SCMP_CMP_EQ' });

const masked = (mask: number, index = 0): SeccompArgument => ({
  index,
  value: mask,
  valueTwo: 0,
  op: 'SCMP_CMP_MASKED_EQ',
});

const toBits = (mask: number): number[] =>
  [...Array(31).keys()].map((bit) => 2 ** bit).filter((flag) => (mask & flag) !== 0);

const toRefusal = (names: string[], flag: number): SeccompRule => ({
  names,
  action: 'SCMP_ACT_ERRNO',
  errnoRet: EPERM,
  args: [{ ...masked(flag), valueTwo: flag }],
});

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
// Protocols of socket(2), by number: 0 for the usual one of the type, TCP, UDP, and ICMP of IPv4 and IPv6 for ping. A socket
// of another one, such as SCTP, DCCP or L2TP, would make the kernel load a module, and any user may ask for it.
const internetProtocols = [0, 6, 17, 1, 58];
// SOCK_STREAM, SOCK_DGRAM and SOCK_RAW, which the kernel refuses for lack of NET_RAW. Of the other types some have
// modules.
const internetTypes = [1, 2, 3];
const SOCK_TYPE_MASK = 0xf;
const NETLINK_ROUTE = 0;
const NETLINK_SOCK_DIAG = 4;

/** Every number up to `last` that is not in `allowed`, and everything above. */
const others = (index: number, allowed: number[], last: number): SeccompArgument[] => [
  ...[...Array(last + 1).keys()]
    .filter((value) => !allowed.includes(value))
    .map((value) => equals(index, value)),
  { index, value: last, op: 'SCMP_CMP_GT' },
];

/**
 * Local, TCP, UDP and ICMP, and the two netlink protocols by which ordinary programs read routes and sockets. Other
 * families (packet, vsock, crypto and the like), internet protocols and netlink protocols fail as on a kernel built
 * without them.
 */
const socketRules = (): SeccompRule[] => {
  const names = ['socket'];
  const netlink = equals(0, AF_NETLINK);
  const netlinkProtocols = [NETLINK_ROUTE, NETLINK_SOCK_DIAG];
  const allow = (args: SeccompArgument[]): SeccompRule => ({ names, action: 'SCMP_ACT_ALLOW', args });
  const refuse = (errnoRet: number, args: SeccompArgument[]): SeccompRule => ({
    names,
    action: 'SCMP_ACT_ERRNO',
    errnoRet,
    args,
  });
  return [
    allow([equals(0, AF_UNIX)]),
    ...[AF_INET, AF_INET6].flatMap((family) => {
      const ofFamily = equals(0, family);
      const [byType, ...named] = internetProtocols as [number, ...number[]];
      return [
        ...named.map((protocol) => allow([ofFamily, equals(2, protocol)])),
        ...[...Array(SOCK_TYPE_MASK + 1).keys()].map((type) => {
          const args = [ofFamily, { ...masked(SOCK_TYPE_MASK, 1), valueTwo: type }, equals(2, byType)];
          return internetTypes.includes(type) ? allow(args) : refuse(ESOCKTNOSUPPORT, args);
        }),
        ...others(2, internetProtocols, 58).map((protocol) => refuse(EPROTONOSUPPORT, [ofFamily, protocol])),
      ];
    }),
    ...netlinkProtocols.map((protocol) => allow([netlink, equals(2, protocol)])),
    ...others(2, netlinkProtocols, 31).map((protocol) => refuse(EPROTONOSUPPORT, [netlink, protocol])),
    ...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], 16).map((family) =>
      refuse(EAFNOSUPPORT, [family]),
    ),
  ];
};

/** Pairs are local. The kernel makes others, modules loaded, before it says that there are none. */
const pairRules = (): SeccompRule[] => {
  const names = ['socketpair'];
  const refuse = (errnoRet: number, family: SeccompArgument): SeccompRule => ({
    names,
    action: 'SCMP_ACT_ERRNO',
    errnoRet,
    args: [family],
  });
  return [
    { names, action: 'SCMP_ACT_ALLOW', args: [equals(0, AF_UNIX)] },
    ...[AF_INET, AF_INET6, AF_NETLINK].map((family) => refuse(EOPNOTSUPP, equals(0, family))),
    ...others(0, [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], 16).map((family) => refuse(EAFNOSUPPORT, family)),
  ];
};

// personality(2): Linux, its query, and without address randomisation (debuggers ask for it).
const personalities = [0, 0x0008, 0x20000, 0x20008, 0x40000, 0xffffffff];

/**
 * The system calls of a program inside: an allow-list. A call that is not on it does not exist (`ENOSYS`, so that
 * programs fall back to an older one); the well-known dangerous ones are refused with `EPERM`. No call makes a new
 * namespace: not by flags of clone or unshare, and not by clone3, whose flags a filter cannot see.
 */
export const seccompProfile: SeccompProfile = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: ENOSYS,
  syscalls: [
    {
      names: [...files, ...waiting, ...memory, ...processes, ...timers, ...communication],
      action: 'SCMP_ACT_ALLOW',
    },
    { names: forbidden, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
    { names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [masked(NEW_NAMESPACES)] },
    { names: ['unshare'], action: 'SCMP_ACT_ALLOW', args: [masked(NEW_NAMESPACES | CLONE_NEWTIME)] },
    ...socketRules(),
    ...pairRules(),
    ...personalities.map(
      (value): SeccompRule => ({
        names: ['personality'],
        action: 'SCMP_ACT_ALLOW',
        args: [equals(0, value)],
      }),
    ),
  ],
};

/**
 * The filter for level gvisor. The sentry serves few calls and reports the others as missing. Calls that no program of
 * a sandbox needs are refused all the same, so that less of the sentry can be attacked. runsc can only answer `EPERM`.
 * Programs fall back from clone3 on `ENOSYS` and not on `EPERM`, so clone3 stays allowed; what a namespace made by it
 * allows is refused.
 */
export const sentryProfile: SeccompProfile = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [
    { names: forbidden, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
    ...toBits(NEW_NAMESPACES).map((flag): SeccompRule => toRefusal(['clone', 'unshare'], flag)),
    toRefusal(['unshare'], CLONE_NEWTIME),
  ],
};
