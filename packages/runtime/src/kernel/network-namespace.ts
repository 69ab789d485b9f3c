import { closeSync, existsSync, openSync, readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';
import koffi from './native.ts';

const CLONE_NEWNET = 0x40000000;
const nativeEnter = koffi.load(null).func('int setns(int, int)');

/**
 * Holds on to the network namespace of a process, so that a pid that is handed on in the meantime cannot lead anywhere
 * else. Rejects with `unavailable` when there is no such process and with `internal` when the namespace is our own.
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
 * Calls `act` while this thread is in another network namespace: sockets that it opens there stay there. `act` must be
 * synchronous; nothing else of this process runs meanwhile, and afterwards the thread is back where it was.
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
      // Whatever this process did next it would do to the sandbox instead of the host.
      if (nativeEnter(home, CLONE_NEWNET) !== 0) process.abort();
    }
  } finally {
    closeSync(home);
  }
}

/** Whether this process's network namespace has the interface. Unlike /sys, /proc/sys/net shows the reader's own. */
export const hasInterface = (name: string): boolean => existsSync(`/proc/sys/net/ipv4/conf/${name}`);
