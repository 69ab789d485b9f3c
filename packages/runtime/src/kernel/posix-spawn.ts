import { constants as fileConstants } from 'node:fs';
import { constants } from 'node:os';
import koffi, { libc } from './native.ts';
import { SyscallError } from './syscalls.ts';

export interface SpawnOptions {
  path: string;
  /** The arguments, the name of the program first. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The child's descriptors from 0 on: a descriptor of this process each, or /dev/null. It has no others. */
  stdio: readonly (number | 'ignore')[];
  /** The child leads a session and a process group of its own: setsid(2). */
  ownSession: boolean;
}

/**
 * Starts a program in the namespaces of the calling thread, in the folder `/`, with no signal blocked or ignored, and
 * returns its pid. `spawn` of Node first copies the page tables of this process, which takes several times as long and
 * grows with its memory.
 * @throws SyscallError
 */
export const spawnChild = ({ path, argv, env, stdio, ownSession }: SpawnOptions): number => {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const actions = createActions(stdio);
  const attributes = createAttributes({ ownSession });
  const pid = Buffer.alloc(4);
  try {
    const errno = nativeSpawn(pid, path, actions, attributes, [...argv, null], [...variables, null]);
    if (errno !== 0) throw new SyscallError(`starting ${argv[0]}`, errno);
  } finally {
    nativeDestroyActions(actions);
    nativeDestroyAttributes(attributes);
  }
  return pid.readInt32LE();
};

/**
 * Reaps a child and returns its exit status or the signal that ended it; undefined while it runs. @throws SyscallError
 */
export const reapChild = (pid: number): number | NodeJS.Signals | undefined => {
  const status = Buffer.alloc(4);
  const found = nativeWait(pid, status, WNOHANG);
  if (found === 0) return undefined;
  if (found !== pid) throw new SyscallError('waitpid', koffi.errno());
  return toEnd(status.readInt32LE());
};

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
/** More than the structs of spawn.h and signal.h take in any C library. */
const STRUCT_BYTES = 1024;
// spawn.h, the same in glibc and musl
const POSIX_SPAWN_SETSIGDEF = 4;
const POSIX_SPAWN_SETSIGMASK = 8;
const POSIX_SPAWN_SETSID = 0x80;
// linux/wait.h
const WNOHANG = 1;

const ensure = (call: string, errno: number): void => {
  if (errno !== 0) throw new SyscallError(call, errno);
};

const createActions = (stdio: SpawnOptions['stdio']): Buffer => {
  const actions = Buffer.alloc(STRUCT_BYTES);
  ensure('posix_spawn_file_actions_init', nativeInitActions(actions));
  // Each descriptor is first copied to a number that is neither a source nor a target. Copied to its target at once, it
  // could overwrite the source of another.
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

/** Resets signals: Node ignores SIGPIPE, and the program that started Node may have ignored others. */
const createAttributes = ({ ownSession }: { ownSession: boolean }): Buffer => {
  const attributes = Buffer.alloc(STRUCT_BYTES);
  ensure('posix_spawnattr_init', nativeInitAttributes(attributes));
  nativeSetDefault(attributes, Buffer.alloc(STRUCT_BYTES, 0xff));
  nativeSetMask(attributes, Buffer.alloc(STRUCT_BYTES));
  const session = ownSession ? POSIX_SPAWN_SETSID : 0;
  nativeSetFlags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | session);
  return attributes;
};

/** wait(2) */
const toEnd = (status: number): number | NodeJS.Signals => {
  const signal = status & 0x7f;
  if (signal === 0) return (status >> 8) & 0xff;
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return names.find(([, number]) => number === signal)?.[0] ?? 128 + signal;
};
