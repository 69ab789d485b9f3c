/** What is other after a resume, and in a copy, at level container: by the words of docs/pause.md that say so. */
export const knownDifferences: readonly [RegExp, string][] = [
  [
    /^(fd|memory|mount|namespace) .* number$|^fd .* info (ino|mnt_id|lock|eventfd-id)$/,
    'inode and device numbers of folders, pipes, sockets, files in memory, mounts and namespaces',
  ],
  [
    /^file .* device$|^file (?!\/root\/(file|link) ).* number$/,
    'inode and device numbers of folders, pipes, sockets, files in memory, mounts and namespaces',
  ],
  [/^(fd|file) .* times$/, 'times of files that were removed, are in memory, or are no files of the disk'],
  [
    /^fd .* (file_)?hint$|^fd (nameless|folder) (info )?flags$/,
    'and `O_TMPFILE` and `O_DIRECTORY` among the flags',
  ],
  [/^fd terminal end (info )?flags$/, '`O_LARGEFILE` among the flags of a terminal'],
  [/^fd event info eventfd-semaphore$/, 'a counter of events that counts down one by one (`EFD_SEMAPHORE`)'],
  [/^memory .* file$/, 'the name of shared memory in `/proc/self/maps`'],
  [/^memory locked on fault flags$/, 'memory that is locked on fault (`MLOCK_ONFAULT`)'],
  [/^mount .* what$|^file \/dev\/null system$/, 'sources and options of mounts'],
  [
    /^process .* (autogroup|coredump_filter|personality|sessionid)$|^memory policy$/,
    '`personality`, policy of memory (`set_mempolicy`), filter of core dumps, autogroup, audit session',
  ],
  [/^process .* started$/, 'the time at which a process started'],
  [/^process ended /, '`/proc` of a process that has ended and was not waited for'],
  [/^socket .* (getsockname|getpeername)$/, 'the address of an accepted connection over a unix socket'],
  [
    /^socket .* (IP_(8|10|11|12|18|21|23|25|26|49|51|BIND_ADDRESS_NO_PORT|DEFAULT_MULTICAST_LOOP|MAX_MEMBERSHIPS|MULTICAST_LOOP|MULTICAST_TTL|RECVOPTS|RECVRETOPTS|RECVTOS|TTL))$/,
    'what comes beside a message (`IP_RECVTOS` and its like)',
  ],
  [/^socket .* IPV6_/, 'what comes beside a message (`IP_RECVTOS` and its like)'],
  [/^socket .* NETLINK_/, 'options of netlink'],
  [
    /^socket .* SO_(37|40|41|42|43|44|45|46|47|60|61|63|64|65|73|74|75|76|82|83|J1939_PROMISC)$/,
    'rarer options of sockets: time stamps, busy polling, pacing',
  ],
  [
    /^socket .* TCP_(16|27|30|34|36|37|44|45|46|CONGESTION|DEFER_ACCEPT|FASTOPEN|LINGER2|MAXSEG|NOTSENT_LOWAT|SYNCNT|USER_TIMEOUT|WINDOW_CLAMP)$/,
    'and of TCP congestion control, user timeout, `TCP_MAXSEG`',
  ],
  [/^net igmp/, 'groups of multicast'],
  [
    /^system v (msg|sem|shm) ([acdos]time|stime|rtime|.*pid)$|^system v undone$/,
    'with other times and last pids, and without `SEM_UNDO`',
  ],
  [/^interface eth0 address$/, 'the hardware address of `eth0`'],
  [/^sysctl kernel\/ns_last_pid$/, 'the number of the next process'],
];

/** What is its own in a copy. */
export const ownOfCopy: readonly [RegExp, string][] = [
  [/^(file .*|fd .*|memory .*|namespace user) number$/, 'inode numbers of files stay after a resume'],
  [
    /^name |^uname$|^sysctl kernel\/hostname$|^file \/etc\/(hostname|hosts|resolv.conf) /,
    'host name (`uname -n`, `/etc/hostname`, `/etc/hosts`)',
  ],
  [/^net (addresses|route \d+)$/, 'address in its network'],
  [/^sysctl kernel\/random\/boot_id$/, '`/proc/sys/kernel/random/boot_id`'],
  [/^namespace [ug]id_map$/, 'the range of the host in `/proc/self/uid_map` and `gid_map`'],
];
