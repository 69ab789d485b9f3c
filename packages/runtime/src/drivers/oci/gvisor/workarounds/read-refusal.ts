/**
 * Program: gVisor
 * Does: Reads in the log of a failed `runsc checkpoint` what inside the sandbox it cannot write down.
 * Why not the promised way: runsc exits with 128 for all its failures, and distinguishes them only in its log.
 * Source: `beforeSave` in pkg/sentry/fsimpl/gofer/save_restore.go and in
 * pkg/sentry/socket/unix/transport/connectioned_state.go, and pkg/state/encode.go of gVisor.
 * When it no longer fits: A refusal of another form counts as a failure of runsc: the answer is 500 in place of 409.
 * Test: read-refusal.test.ts, and sentry.driver.test.ts with runsc itself.
 */
import { readFile } from 'node:fs/promises';
import type { Obstacle } from '../../../../obstacle.ts';

/** Resolves with undefined for a failure of runsc or the host, also when there is no log. */
export const readRefusal = async (log: string): Promise<Obstacle | undefined> => {
  const text = await readFile(log, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  for (const line of text.trim().split('\n').reverse()) {
    const message = readMessage(line);
    if (message?.startsWith('checkpoint failed: ')) return toObstacle(message);
  }
  return undefined;
};

const readMessage = (line: string): string | undefined => {
  try {
    return (JSON.parse(line) as { msg?: string }).msg;
  } catch {
    // A line of another form is no failure of a command.
    return undefined;
  }
};

const toObstacle = (message: string): Obstacle | undefined => {
  // The first of these words: the names of files follow them.
  const reason = /: encoding error: (.*)/s.exec(message)?.[1];
  // Only an object that is being encoded refuses by itself; a failed write of what was encoded shows no such call.
  if (reason === undefined || !reason.includes('.StateSave(')) return undefined;
  if (reason.startsWith('Cannot save endpoint with bound host socket')) return { kind: 'socket_file' };
  // The name of the file is quoted, and code inside may have chosen it.
  if (/^gofer\.dentry\("(?:[^"\\]|\\.)*"\)\.beforeSave: deleted /.test(reason))
    return { kind: 'removed_file' };
  return { kind: 'unknown' };
};
