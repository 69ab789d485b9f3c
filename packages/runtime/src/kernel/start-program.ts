import { constants as fileConstants } from 'node:fs';
import { constants } from 'node:os';
import { findProgram } from './find-program.ts';
import koffi from './native.ts';
import { SyscallError } from './syscalls.ts';

/** A program that this process has started. */
export interface Program {
  readonly pid: number;
  /** Resolves with its exit status, or with the name of the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Sends SIGKILL; does nothing about one that has ended. */
  kill(): void;
}

export interface ProgramOptions {
  /** Looked up in the system's folders when it is a name alone. */
  file: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Its descriptors from 0 on: one of this process each, or nothing to read and nowhere to write. It has no others. */
  stdio: readonly (number | 'ignore')[];
}

/**
 * Starts a program in the namespaces of the calling thread, in the folder `/`, with no signal blocked or ignored. Node's own
 * `spawn` first copies the tables of all memory of this process, which takes several times as long and grows with it.
 * @throws SyscallError when it cannot be started
 */
export const startProgram = ({ file, args, env, stdio }: ProgramOptions): Program => {
  const path = file.includes('/') ? file : (findProgram(file) ?? file);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const actions = createActions(stdio);
  const attributes = createAttributes();
  const pid = Buffer.alloc(4);
  try {
    const errno = nativeSpawn(pid, path, actions, attributes, [file, ...args, null], [...variables, null]);
    if (errno !== 0) throw new SyscallError(`starting ${file}`, errno);
  } finally {
    nativeDestroyActions(actions);
    nativeDestroyAttributes(attributes);
  }
  return watch(pid.readInt32LE());
};

const libc = koffi.load(null);
const nativeSpawn = libc.func(
  'int posix_spawn(void *, const char *, void *, void *, const char **, const char **)',
);
const nativeInitActions = libc.func('int posix_spawn_file_actions_init(void *)');
const nativeAddDuplicate = libc.func('int posix_spawn_file_actions_adddup2(void *, int, int)');
const nativeAddClose = libc.func('int posix_spawn_file_actions_addclose(void *, int)');
const nativeAddOpen = libc.func(
  'int posix_spawn_file_actions_addopen(void *, int, const char *, int, unsigned int)',
);
const nativeAddFolder = libc.func('int posix_spawn_file_actions_addchdir_np(void *, const char *)');
const nativeDestroyActions = libc.func('int posix_spawn_file_actions_destroy(void *)');
const nativeInitAttributes = libc.func('int posix_spawnattr_init(void *)');
const nativeSetFlags = libc.func('int posix_spawnattr_setflags(void *, short)');
const nativeSetDefault = libc.func('int posix_spawnattr_setsigdefault(void *, void *)');
const nativeSetMask = libc.func('int posix_spawnattr_setsigmask(void *, void *)');
const nativeDestroyAttributes = libc.func('int posix_spawnattr_destroy(void *)');
const nativeWait = libc.func('int waitpid(int, void *, int)');

const { O_RDWR } = fileConstants;
/** More than spawn.h and signal.h of any C library say. */
const STRUCT_BYTES = 1024;
// spawn.h, the same in glibc and musl
const POSIX_SPAWN_SETSIGDEF = 4;
const POSIX_SPAWN_SETSIGMASK = 8;
// linux/wait.h
const WNOHANG = 1;

const ensure = (call: string, errno: number): void => {
  if (errno !== 0) throw new SyscallError(call, errno);
};

const createActions = (stdio: ProgramOptions['stdio']): Buffer => {
  const actions = Buffer.alloc(STRUCT_BYTES);
  ensure('posix_spawn_file_actions_init', nativeInitActions(actions));
  // All first to where none of them is, so that none takes the place of one that is still needed.
  const beyond = Math.max(stdio.length, ...stdio.map((from) => (from === 'ignore' ? 0 : from + 1)));
  const moved = stdio.flatMap((from, to) => (from === 'ignore' ? [] : [{ from, to, by: beyond + to }]));
  for (const { from, by } of moved) ensure('adddup2', nativeAddDuplicate(actions, from, by));
  for (const { to, by } of moved) {
    ensure('adddup2', nativeAddDuplicate(actions, by, to));
    ensure('addclose', nativeAddClose(actions, by));
  }
  for (const [to, from] of stdio.entries()) {
    if (from === 'ignore') ensure('addopen', nativeAddOpen(actions, to, '/dev/null', O_RDWR, 0));
  }
  ensure('addchdir', nativeAddFolder(actions, '/'));
  return actions;
};

/** Node ignores SIGPIPE, and who starts Node may have ignored others. */
const createAttributes = (): Buffer => {
  const attributes = Buffer.alloc(STRUCT_BYTES);
  ensure('posix_spawnattr_init', nativeInitAttributes(attributes));
  nativeSetDefault(attributes, Buffer.alloc(STRUCT_BYTES, 0xff));
  nativeSetMask(attributes, Buffer.alloc(STRUCT_BYTES));
  nativeSetFlags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  return attributes;
};

/** Those of which nobody has been told that they have ended, and whom to tell. */
const running = new Map<
  number,
  { tell: (end: number | NodeJS.Signals) => void; fail: (error: Error) => void }
>();
let timer: NodeJS.Timeout | undefined;

const watch = (pid: number): Program => {
  const ended = new Promise<number | NodeJS.Signals>((tell, fail) => running.set(pid, { tell, fail }));
  if (timer === undefined) {
    // No message to this process from anybody, but how the kernel says that a child has ended.
    process.on('SIGCHLD', collect);
    // A listener to signals alone lets Node end before the programs do.
    timer = setInterval(collect, KEEP_ALIVE_MS);
  }
  // It may have ended before anybody listened.
  setImmediate(collect);
  return {
    pid,
    ended,
    kill: () => {
      if (running.has(pid)) process.kill(pid, 'SIGKILL');
    },
  };
};

const KEEP_ALIVE_MS = 1_000;

/** Takes down those that have ended. One signal may stand for several. */
const collect = (): void => {
  for (const [pid, { tell, fail }] of running) {
    const status = Buffer.alloc(4);
    const found = nativeWait(pid, status, WNOHANG);
    if (found === 0) continue;
    running.delete(pid);
    if (found === pid) tell(toEnd(status.readInt32LE()));
    else fail(new SyscallError('waitpid', koffi.errno()));
  }
  if (running.size > 0) return;
  process.off('SIGCHLD', collect);
  clearInterval(timer);
  timer = undefined;
};

/** wait(2) */
const toEnd = (status: number): number | NodeJS.Signals => {
  const signal = status & 0x7f;
  if (signal === 0) return (status >> 8) & 0xff;
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return names.find(([, number]) => number === signal)?.[0] ?? 128 + signal;
};
