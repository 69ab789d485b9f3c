import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@skerry/sdk';
import { type DescribedEntry, normalise, type Operation } from './file-model.ts';

const worker = readFileSync(join(import.meta.dirname, 'worker.py'), 'utf8');

/** Where the worker works: a new folder, and two that the image has. */
export const roots = ['/srv', '/usr/share/python3', '/usr/share/base-files'];

const command = `python3 /opt/worker.py ${roots.join(' ')} < /tmp/operations`;

export const installWorker = async (sandbox: Sandbox): Promise<void> => {
  await sandbox.files.write('/opt/worker.py', worker, { user: 'root' });
};

/** Has the operations carried out and resolves with the trees that there are then. */
export const work = async (sandbox: Sandbox, operations: readonly Operation[]): Promise<DescribedEntry[]> => {
  await give(sandbox, operations);
  return parseTree((await sandbox.commands.run(command, { user: 'root' })).stdout);
};

/** Starts the work in a process that outlives every connection and takes its time. `awaitWork` resolves with what it came to. */
export const startWork = async (
  sandbox: Sandbox,
  operations: readonly Operation[],
  { paceSeconds }: { paceSeconds: number },
): Promise<void> => {
  await give(sandbox, operations);
  const started = `rm -f /tmp/tree; PACE_SECONDS=${paceSeconds} setsid sh -c '${command} > /tmp/tree.new 2>&1; mv /tmp/tree.new /tmp/tree'`;
  await sandbox.commands.run(`${started} > /dev/null 2>&1 < /dev/null &`, { user: 'root' });
};

export const awaitWork = async (sandbox: Sandbox): Promise<DescribedEntry[]> => {
  await sandbox.commands.run('until [ -e /tmp/tree ]; do sleep 0.05; done', { timeoutMs: 120_000 });
  return parseTree(await sandbox.files.read('/tmp/tree'));
};

const give = async (sandbox: Sandbox, operations: readonly Operation[]): Promise<void> => {
  const lines = operations.map((operation) => `${JSON.stringify(operation)}\n`).join('');
  await sandbox.files.write('/tmp/operations', lines, { user: 'root' });
};

const parseTree = (text: string): DescribedEntry[] =>
  normalise(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as DescribedEntry),
  );
