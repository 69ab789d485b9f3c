import { toSocketRows } from './socket-options.ts';

/** Keys of a record that are other, and the words of docs/pause.md that say so. */
export type KnownDifference = readonly [pattern: RegExp, words: string];

/** What is other after a resume, and in a copy, and what is its own in a copy. */
export interface KnownDifferences {
  readonly always: readonly KnownDifference[];
  readonly ofCopy: readonly KnownDifference[];
}

const numbers = 'inode and device numbers of folders, pipes, sockets, files in memory, mounts and namespaces';
const times = 'times of files that were removed, are in memory, or are no files of the disk';
const hints = '`O_TMPFILE` and `O_DIRECTORY` among the flags';
const settings =
  '`personality`, policy of memory (`set_mempolicy`), filter of core dumps, autogroup, audit session';
const systemV = 'with other times and last pids, and without `SEM_UNDO`';
const hostName = 'host name (`uname -n`, `/etc/hostname`, `/etc/hosts`)';

const container: KnownDifferences = {
  always: [
    [/^fd .* number$/, numbers],
    [/^memory .* number$/, numbers],
    [/^mount .* number$/, numbers],
    [/^namespace .* number$/, numbers],
    [/^fd .* info ino$/, numbers],
    [/^fd .* info mnt_id$/, numbers],
    [/^fd .* info lock$/, numbers],
    [/^fd .* info eventfd-id$/, numbers],
    [/^file .* device$/, numbers],
    [/^file (?!\/root\/(file|link) ).* number$/, numbers],
    [/^fd .* times$/, times],
    [/^file .* times$/, times],
    [/^fd .* hint$/, hints],
    [/^fd (nameless|folder) (info )?flags$/, hints],
    [/^fd terminal end (info )?flags$/, '`O_LARGEFILE` among the flags of a terminal'],
    [
      /^fd event info eventfd-semaphore$/,
      'a counter of events that counts down one by one (`EFD_SEMAPHORE`)',
    ],
    [/^memory (locked|locked on fault|shared) file$/, 'the name of shared memory in `/proc/self/maps`'],
    [/^memory locked on fault flags$/, 'memory that is locked on fault (`MLOCK_ONFAULT`)'],
    [/^mount .* what$/, 'sources and options of mounts'],
    [/^process .* autogroup$/, settings],
    [/^process .* coredump_filter$/, settings],
    [/^process .* personality$/, settings],
    [/^process .* sessionid$/, settings],
    [/^memory policy$/, settings],
    [/^process .* started$/, 'the time at which a process started'],
    [/^process ended /, '`/proc` of a process that has ended and was not waited for'],
    [
      /^socket abstract accepted getsockname$/,
      'the address of an accepted connection over a unix socket, and of its other end',
    ],
    [
      /^socket abstract client getpeername$/,
      'the address of an accepted connection over a unix socket, and of its other end',
    ],
    ...toSocketRows(),
    [/^net igmp/, 'groups of multicast'],
    [/^system v shm ([acd]time|[cl]pid)$/, systemV],
    [/^system v msg ([cr]time|stime|l.pid)$/, systemV],
    [/^system v sem [co]time$/, systemV],
    [/^system v undone$/, systemV],
    [/^interface eth0 address$/, 'the hardware address of `eth0`'],
    [/^sysctl kernel\/ns_last_pid$/, 'the number of the next process'],
  ],
  ofCopy: [
    [/^file .* number$/, 'inode numbers of files stay after a resume'],
    [/^name /, hostName],
    [/^uname$/, hostName],
    [/^sysctl kernel\/hostname$/, hostName],
    [/^file \/etc\/(hostname|hosts) what$/, hostName],
    [/^net addresses$/, 'address in its network'],
    [/^net route \d+$/, 'address in its network'],
    [/^sysctl kernel\/random\/boot_id$/, '`/proc/sys/kernel/random/boot_id`'],
    [/^namespace uid_map$/, 'the range of the host in `/proc/self/uid_map` and `gid_map`'],
    [/^namespace gid_map$/, 'the range of the host in `/proc/self/uid_map` and `gid_map`'],
  ],
};

const gvisor: KnownDifferences = {
  always: [
    [/^file .* number$/, 'At level `gvisor` the inode numbers of files are others'],
    [/^terminal pixels$/, 'a terminal has no size in pixels'],
  ],
  ofCopy: [
    [/^name /, hostName],
    [/^uname$/, hostName],
    [/^sysctl kernel\/hostname$/, hostName],
    [/^file \/etc\/(hostname|hosts) what$/, hostName],
    [/^file \/etc\/(hostname|hosts) times$/, hostName],
    [/^net route \d+$/, 'address in its network'],
  ],
};

/** The differences of each isolation level. */
export const knownDifferences = { container, gvisor } as const;

/** What is other at `gvisor` at some times alone. */
export const unsteady: readonly KnownDifference[] = [
  [/^socket .* SO_(SND|RCV)BUF$/, 'sockets may report other sizes of their buffers'],
];
