import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReferenceAnswer, ReferenceOrder } from './server.ts';

export interface Reference {
  socketPath: string;
  /** A folder for its files. */
  folder: string;
  /** Milliseconds from spawning a program with `node:child_process` until it is closed, as that process sees it. */
  spawn(program: string): Promise<number>;
}

/** Starts the bare server in a separate process, on a unix socket. It ends with the resources. */
export async function startReference(resources: AsyncDisposableStack): Promise<Reference> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-reference-'));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const child = fork(join(import.meta.dirname, 'server.ts'));
  const exit = once(child, 'exit');
  resources.defer(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const order = async (value: ReferenceOrder): Promise<number> => {
    child.send(value);
    const ended = exit.then(() => Promise.reject(new Error('the reference ended')));
    const [answer] = (await Promise.race([once(child, 'message'), ended])) as [ReferenceAnswer];
    return answer.elapsedMs;
  };
  const socketPath = join(folder, 'reference.sock');
  await order({ listen: socketPath });
  return { socketPath, folder, spawn: (program) => order({ spawn: program }) };
}
