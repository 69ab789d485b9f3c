import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { checkWork } from './checks.ts';
import { attempt, run } from './run.ts';
import { ensureServer, startServer, usualServer } from './server.ts';

interface Probe {
  name: string;
  ok: boolean;
  needed: boolean;
  found: string;
  mend?: string;
}

/** That every unit has started. */
export async function checkBoot(): Promise<string> {
  const state = (await attempt('systemctl', 'is-system-running', '--wait')).output.trim();
  const failed = await run('systemctl', 'list-units', '--failed', '--plain', '--no-legend');
  assert.equal(state, 'running', `the system, of which failed: ${failed}`);
  return (await run('systemd-analyze', 'time')).split('\n')[0] ?? '';
}

/** That `skerry doctor` finds all that is needed, and exits with 0. */
export async function checkDoctor(): Promise<string> {
  const { status, output } = await attempt('skerry', 'doctor', '--json');
  const start = output.indexOf('[');
  const probes = JSON.parse(output.slice(start, output.lastIndexOf(']') + 1)) as Probe[];
  const off = probes.filter(({ ok }) => !ok);
  assert.equal(status, 0, `skerry doctor, which found ${JSON.stringify(off, undefined, 2)}`);
  const names = off.map(({ name, found }) => `${name} (${found})`);
  return `${probes.length - off.length}/${probes.length} probes${names.length > 0 ? `, off: ${names.join('; ')}` : ''}`;
}

/** The first start, which proves that memory can be kept. */
export async function checkUp(): Promise<void> {
  await startServer();
  const log = readFileSync(usualServer.logPath, 'utf8');
  const entries = log.split('\n').filter((line) => line.startsWith('{'));
  const complaints = entries.filter((line) => {
    const { level } = JSON.parse(line) as { level?: string };
    return level === 'warn' || level === 'error';
  });
  assert.deepEqual(complaints, [], 'what the first start complains of');
}

/** The way of a first user: by the command line and by the library. */
export async function checkCreate(): Promise<void> {
  const connection = await ensureServer();
  const id = (await run('skerry', 'sandbox', 'create', '--timeout', '3600')).trim();
  assert.equal(await run('skerry', 'sandbox', 'exec', id, '--', 'echo', 'by', 'hand'), 'by hand\n');
  const sandbox = await Sandbox.connect(id, { ...connection, timeoutMs: 3_600_000 });
  await checkWork(sandbox);
  assert.match(await run('skerry', 'sandbox', 'list'), new RegExp(`${id} .*running`));
  await run('skerry', 'sandbox', 'kill', id);
}
