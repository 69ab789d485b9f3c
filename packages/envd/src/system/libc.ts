import koffi from 'koffi/indirect';

/** `null` means the symbols of this process, so the C library is the one that Node itself runs on. */
export const lib = koffi.load(null);

const cPipe2 = lib.func('int pipe2(_Out_ int *fds, int flags)');
const cFcntl = lib.func('int fcntl(int fd, int command, ...)');
const cSyscall = lib.func('long syscall(long number, ...)');
const cMallocTrim = lib.func('int malloc_trim(size_t pad)');
const cSendfile = lib.func('long sendfile(int out, int in, void *offset, size_t count)');
const cSetsockopt = lib.func(
  'int setsockopt(int fd, int level, int name, const void *value, unsigned int length)',
);
const cPoll = lib.func('int poll(void *fds, unsigned long count, int timeout)');
const cCapget = lib.func('int capget(_Inout_ uint8_t *header, _Out_ uint8_t *data)');
const cCapset = lib.func('int capset(_Inout_ uint8_t *header, uint8_t *data)');

const O_CLOEXEC = 0o2000000;
const F_DUPFD_CLOEXEC = 1030;
const CAP_SETGID = 6;

/** Numbers of the calls whose C wrappers would change every thread at once. */
const NUMBERS: Readonly<Record<string, { setgroups: number; getgroups: number; setresgid: number }>> = {
  x64: { setgroups: 116, getgroups: 115, setresgid: 119 },
  arm64: { setgroups: 159, getgroups: 158, setresgid: 149 },
};

/** The error of a failed call, with `code` like those of `node:fs`. */
export const createErrnoError = (call: string): NodeJS.ErrnoException => {
  const errno = koffi.errno();
  const code = Object.entries(koffi.os.errno).find(([, number]) => number === errno)?.[0] ?? `E${errno}`;
  return Object.assign(new Error(`${call} failed: ${code}`), { code, errno: -errno, syscall: call });
};

const check = (result: number, call: string): number => {
  if (result < 0) throw createErrnoError(call);
  return result;
};

/**
 * A pipe(7), closed on exec. Node would give a child sockets instead, and a program cannot open `/dev/stdout` or
 * `/dev/stderr` when that is a socket.
 */
export const createPipe = (): { readFd: number; writeFd: number } => {
  const fds = [0, 0];
  check(cPipe2(fds, O_CLOEXEC), 'pipe2');
  return { readFd: fds[0] as number, writeFd: fds[1] as number };
};

/** A second descriptor of the same open file, closed on exec (fcntl(2)). */
export const duplicateFd = (fd: number): number => check(cFcntl(fd, F_DUPFD_CLOEXEC, 'int', 0), 'fcntl');

/**
 * Lets the kernel send a part of a file to a socket (sendfile(2)), in a thread of the pool. Resolves with what it sent, or -1
 * when it could not send anything now, for whatever reason.
 */
export const sendfile = (
  socketFd: number,
  fileFd: number,
  { offset, count }: { offset: number; count: number },
): Promise<number> => {
  const position = new BigInt64Array([BigInt(offset)]);
  return new Promise((resolve, reject) => {
    cSendfile.async(socketFd, fileFd, position, count, (error: Error | null, moved: number) => {
      // The kernel reads and writes it until now.
      position.fill(0n);
      if (error) reject(error);
      else resolve(Number(moved));
    });
  });
};

const SOL_SOCKET = 1;
const SO_SNDBUF = 7;

/** Asks for room for `sizeBytes` in a socket (socket(7)); the kernel gives as much as the host allows. */
export const setSendBuffer = (fd: number, sizeBytes: number): void => {
  check(cSetsockopt(fd, SOL_SOCKET, SO_SNDBUF, new Int32Array([sizeBytes]), 4), 'setsockopt');
};

const POLLOUT = 4;

/** Waits for room in a socket (poll(2)), in a thread of the pool. Resolves with false when there was none in this time. */
export const waitUntilWritable = (fd: number, timeoutMs: number): Promise<boolean> => {
  const pollfd = new Int32Array([fd, POLLOUT]);
  return new Promise((resolve, reject) => {
    cPoll.async(pollfd, 1, timeoutMs, (error: Error | null, ready: number) => {
      if (error) reject(error);
      // An error or a hang-up also ends the wait, and is no room.
      else resolve(ready === 1 && (pollfd[1] ?? 0) >>> 16 === POLLOUT);
    });
  });
};

/** Gives free memory of the C heap back to the kernel, in the midst of the heap too (malloc_trim(3)). */
export const releaseFreeMemory = (): void => {
  cMallocTrim(0);
};

const setGroups = (number: number, groups: readonly number[]): void => {
  const list = Uint32Array.from(groups);
  check(cSyscall(number, 'size_t', list.length, 'void *', list), 'setgroups');
};

const getGroups = (number: number): number[] => {
  const list = new Uint32Array(65_536);
  const count = check(cSyscall(number, 'size_t', list.length, 'void *', list), 'getgroups');
  return [...list.subarray(0, count)];
};

let ownGroups: readonly number[] | undefined;

const setGid = (number: number, gid: number): void => {
  check(cSyscall(number, 'unsigned int', gid, 'unsigned int', gid, 'unsigned int', gid), 'setresgid');
};

/**
 * Runs `spawn`, which forks on this thread, so that the child has the group `gid` and these supplementary groups.
 *
 * libuv clears the supplementary groups of a child that changes its user, but ignores a refusal. So for that moment this
 * thread takes the groups itself and gives up the right to change them (CAP_SETGID, capabilities(7)). Its user stays root
 * throughout: no process of an ordinary user may signal it meanwhile. Credentials belong to a thread when set by the raw
 * call, so other threads never change.
 */
export const withGroups = <T>(
  { gid, groups }: { gid: number; groups: readonly number[] },
  spawn: () => T,
): T => {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined) throw new Error(`supplementary groups are not implemented on ${process.arch}`);
  // _LINUX_CAPABILITY_VERSION_3, pid 0 = this thread; then two sets of {effective, permitted, inheritable}.
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x20080522, 0);
  const before = Buffer.alloc(24);
  check(cCapget(header, before), 'capget');
  const without = Buffer.from(before);
  without.writeUInt32LE((before.readUInt32LE(0) & ~(1 << CAP_SETGID)) >>> 0, 0);
  const previousGid = process.getegid?.() ?? 0;
  // Always the same ones, and the list to read them into is as long as the kernel allows.
  ownGroups ??= getGroups(numbers.getgroups);
  setGroups(numbers.setgroups, groups);
  setGid(numbers.setresgid, gid);
  check(cCapset(header, without), 'capset');
  try {
    return spawn();
  } finally {
    check(cCapset(header, before), 'capset');
    setGid(numbers.setresgid, previousGid);
    setGroups(numbers.setgroups, ownGroups);
  }
};
