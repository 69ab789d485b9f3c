import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@skerry/sdk';

/** A request that the page of a sandbox has received. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const program = readFileSync(join(import.meta.dirname, 'page-server.py'), 'utf8');

/** Serves a page at a port of a sandbox, as a program that a pause with memory keeps. Resolves when it listens. */
export async function servePage(sandbox: Sandbox, port: number): Promise<void> {
  await sandbox.files.write('/tmp/page-server.py', program);
  const running = await sandbox.commands.run(`exec setsid python3 /tmp/page-server.py ${port}`, {
    ...{ background: true, timeoutMs: 0 },
  });
  running.wait().catch(() => {}); // The program ends with its sandbox.
  for await (const piece of running) if ('stdout' in piece && piece.stdout.includes('listening')) return;
  throw new Error(`the server ended: ${running.stderr}`);
}

/** Reads what the page has received so far. */
export async function readSeen(sandbox: Sandbox, port: number): Promise<SeenRequest[]> {
  const path = `/tmp/seen-${port}`;
  if (!(await sandbox.files.exists(path))) return [];
  const lines = (await sandbox.files.read(path)).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as SeenRequest);
}
