/**
 * Program: CRIU
 * Does: Recognizes in the log of a failed dump the messages by which CRIU says that it cannot keep something inside the sandbox.
 * Why not the promised way: CRIU exits with 1 for all its failures, also those of its host, and distinguishes them only in its log.
 * Source: the calls of `pr_err` below criu/ of CRIU 4.2, by their texts.
 * When it no longer fits: A refusal of another text counts as a failure of CRIU: the answer is 500 in place of 409, unless
 * `findObstacle` finds its cause.
 * Test: refusals.test.ts, and refusals.driver.test.ts with CRIU itself.
 */

/** Whether a line of the log names something inside. Code inside may have chosen the names of files in it. */
export const isRefusal = (line: string): boolean => pattern.test(line);

/** Messages about a process, a file, a socket, a mapping or a mount of the sandbox, as CRIU formats them. */
export const refusals: readonly string[] = [
  // Processes; the first two are at their limits of open files or memory
  "Can't create memfd in victim: %s",
  'remote mmap() failed: %s',
  'A session leader of %d(%d) is outside of its pid namespace',
  'A session leader of zombie process %d(%d) is outside of its pid namespace',
  "Can't dump a pid namespace without the process init",
  "Can't dump nested %s namespace for %d",
  "Can't dump nested time namespace for %d",
  "Can't dump task %d running in 32-bit mode",
  "Can't dump task %d with LDT descriptors",
  "Can't dump the %d thread with a pending SIGTRAP.",
  "Can't figure out which sid (%d or %d)the process %d was born with",
  'Individually stopped threads not supported',
  'SEIZE %d: unsupported stop signal %d',
  'Too many groups in task %d',
  'Unseizable non-zombie %d found, state %c, err %d/%d',
  'Zombie thread not supported',
  'Zombie with children?! O_o Run, run, run!',
  'Zombies with threads are not supported',
  "can't dump unprivileged task whose /proc doesn't belong to it",
  'net: Unable to dump more than one netns if the --emptyns is set',
  'seccomp: Unknown seccomp mode %d on tid %d',
  // Files
  "Can't dump file %d of that type [%o] (%s %s)",
  "Can't dump ghost file %s of %lu size, increase limit",
  "Can't lookup mount=%d for fd=%d path=%s",
  'Open files on overmounted mounts are not supported yet; mount=%d fd=%d path=%s',
  'The packetized mode for pipes is not supported yet',
  'The path [%s] is not supported',
  'Unaccessible path opened %u:%u, need %u:%u',
  'Unknown clock type %d for %#x',
  'Unknown shit %o (%s)',
  'Unresolved lock found pid %d ino %ld',
  'epoll: Escaped/closed fd descriptor %d on pid %d',
  "fsnotify: \tCan't dump that handle",
  'pidfd: PIDFD_THREAD flag is currently not supported',
  'pidfd: pidfd pid %d is not a part of process tree..',
  "tun: Can't dump %s with filter on-board",
  // Terminals
  'tty: Found dangling tty with sid %d pgid %d (%s) on peer fd %d.',
  'tty: Found slave peer index %d without correspond master peer',
  'tty: Index %d on ptmx is too big',
  'tty: Index %d on pts is too big',
  "tty: The master for %s isn't from the root mntns",
  'tty: The tty (%s %#x) queued data overflow %zu bytes limit',
  'tty: Unexpected format on path %s',
  'tty: ctty inheritance detected sid/pgrp %d (ctty pid_real %d pty pid_real %d)',
  'tty: ctty inheritance detected sid/pgrp %d, no PTY peer with sid/pgrp needed',
  // Mappings
  "Can't handle non-regular mapping on %d's map %lx",
  'Strange file mapped at %lx [%s]:%d.%d.%ld',
  "Task %d with SysVIPC shmem map @%lx doesn't live in IPC ns",
  'Unsupported mapping found %016lx-%016lx',
  // Mounts
  'autofs not supported.',
  "mnt: %d:%s doesn't have a proper root mount",
  'mnt: FS mnt %s dev %#x root %s unsupported id %d',
  'mnt: Mount %d %s (master_id: %d shared_id: %d) has unreachable sharing. Try --enable-external-masters.',
  'mnt: Mount %d:%s is autodetected external mount. Try "--ext-mount-map auto" to allow them.',
  'mnt: The mount %d is overmounted so paths are invisible',
  'mnt: Unsupported st_mode 0%o deleted root %s',
  // Sockets
  "TCP_REPAIR can't be enabled for half-closed sockets",
  'Unknown socket family %d',
  "inet: Can't dump %d inet socket %x. Only stream, dgram and raw are supported.",
  "inet: Can't dump corked dgram socket %x",
  'inet: In-flight connection (l) for %x',
  'inet: Unknown inet socket %x state %d',
  'inet: Unsupported proto %d for socket %x',
  'inet: Unsupported socket family: %d',
  'inet: Unsupported socket type: %d',
  'net: Unable to dump a socket from an external network namespace',
  'netlink: Groups above 32 are not supported yet',
  'netlink: The netlink socket 0x%x has more than 32 groups',
  'netlink: The netlink socket 0x%x is bound to groups but not to portid',
  'netlink: The socket has data to read',
  'packet: Multiple MC membership not supported (but can be)',
  'packet: Unknown mc membership type %d',
  'skqueue: Control messages in queue, not supported',
  'skqueue: More than 1 SCM is not possible',
  'sockets: Sockets (family %d proto %d) are not collected',
  "unix: Can't dump half of stream unix connection. name: %s; peer name: %s",
  "unix: Can't dump name-less external socket.",
  "unix: Can't resolve name for socket %#x",
  'unix: Dangling connection %d',
  'unix: External socket is used. Consider using --ext-unix-sk option.',
  'unix: Found a closed in-flight socket to %#x',
  'unix: In-flight connection on non-listening socket %d',
  'unix: Non-empty write queue on an in-flight socket %#x',
  'unix: The file name is too long',
  'unix: Unix socket %u with unreachable peer %u (%u)',
  'unix: Unix socket %u without peer %u',
  'unix: Unknown state %d for unix socket %d',
  'unix: Unsupported type (%d) on socket %d.',
];

/** A message up to its first name: numbers in any base, and letters. */
const toPattern = (format: string): string =>
  format
    .replace(/%s.*/, '')
    .replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
    .replace(/%#?\d*[lz]*[a-z]/g, '\\S+?');

const pattern = new RegExp(
  String.raw`^(?:\(\d+\.\d+\) +)?Error \([^)]*\): (?:${refusals.map(toPattern).join('|')})`,
);
