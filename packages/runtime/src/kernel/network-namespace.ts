import { closeSync, existsSync, openSync, readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';
import koffi, { libc } from './native.ts';
import { returnOrAbort } from './return-or-abort.ts';
import { SyscallError } from './syscalls.ts';

const CLONE_NEWNET = 0x40000000;
const nativeEnter = libc.func('int setns(int, int)');

/**
 * Opens the network namespace of a process, so that a reused pid cannot lead to another one. Rejects with `unavailable`
 * when there is no such process and with `internal` when the namespace is that of this process.
 */
export async function openNetworkNamespace(pid: number): Promise<FileHandle> {
  if (!Number.isInteger(pid) || pid <= 1)
    throw new RuntimeError('internal', `not the pid of a sandbox: ${pid}`);
  let handle: FileHandle;
  try {
    handle = await open(`/proc/${pid}/ns/net`, 'r');
  } catch (error) {
    throw new RuntimeError('unavailable', `process ${pid} is gone`, { cause: error });
  }
  const [theirs, ours] = [`fd/${handle.fd}`, 'ns/net'].map((name) => readlinkSync(`/proc/self/${name}`));
  if (theirs !== ours) return handle;
  await handle.close();
  throw new RuntimeError('internal', `process ${pid} has no network namespace of its own`);
}

/**
 * Calls `act` while this thread is in another network namespace: sockets that it opens stay there. `act` must be
 * synchronous; nothing else of this process runs meanwhile. Afterwards the thread is back in its own namespace, and the
 * process aborts when that fails.
 */
export function inNetworkNamespace<T>(namespace: FileHandle, act: () => T): T {
  const home = openSync('/proc/thread-self/ns/net', 'r');
  try {
    if (nativeEnter(namespace.fd, CLONE_NEWNET) !== 0) {
      throw new RuntimeError('internal', 'the network namespace could not be entered');
    }
    try {
      return act();
    } finally {
      returnOrAbort('the network namespace of the host', () => {
        if (nativeEnter(home, CLONE_NEWNET) !== 0) throw new SyscallError('setns', koffi.errno());
      });
    }
  } finally {
    closeSync(home);
  }
}

/**
 * Whether this process's network namespace has the interface. Unlike /sys, /proc/sys/net shows the namespace of the
 * reader.
 */
export const hasInterface = (name: string): boolean => existsSync(`/proc/sys/net/ipv4/conf/${name}`);
