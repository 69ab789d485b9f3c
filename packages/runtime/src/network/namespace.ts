import { type FileHandle, open, readlink } from 'node:fs/promises';
import { RuntimeError } from '../error.ts';

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
  const [theirs, ours] = await Promise.all([
    readlink(`/proc/self/fd/${handle.fd}`),
    readlink('/proc/self/ns/net'),
  ]);
  if (theirs !== ours) return handle;
  await handle.close();
  throw new RuntimeError('internal', `process ${pid} has no network namespace of its own`);
}
