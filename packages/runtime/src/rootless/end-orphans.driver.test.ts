import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { agentMountPoint } from '../agent-folder/agent-folder.ts';
import { identifyProcess } from '../kernel/process-identity.ts';
import { reserveSlot } from '../network/slots.ts';
import { endOrphans } from './end-orphans.ts';

/**
 * A user namespace, and in one below it a process that looks like the first one of a sandbox, with the folder that is its
 * argument.
 */
const rootlessScript = `readlink /proc/self/ns/user
exec unshare --user --map-root-user --mount --pid --fork --kill-child bash -c "
  mount --bind $0 $0
  exec -a ${agentMountPoint}/tini sh -c 'echo ready; sleep infinity; true'"`;

const dir = mkdtempSync(join(tmpdir(), 'skerry-orphans-'));
const dataDir = join(dir, 'data');
const children: ChildProcess[] = [];
const start = (file: string, args: string[]): ChildProcess & { stdout: Readable } => {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  return child;
};
const readLines = (child: { stdout: Readable }) =>
  createInterface({ input: child.stdout })[Symbol.asyncIterator]();

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

describe('ending the sandboxes of a rootless namespace that has ended', () => {
  it('waits until their processes have ended, and spares those of other rootless namespaces', async () => {
    const guest = join(dataDir, 'sandboxes/i1/disk/run');
    mkdirSync(guest, { recursive: true });
    const [own, foreign] = [join(dir, 'own'), join(dir, 'foreign')];
    await reserveSlot({ dataDir, id: 'i1', stateDir: own });
    // Reserve the slot of another sandbox with the same folder and number: another namespace can have the
    // number of an ended one.
    await reserveSlot({ dataDir, id: 'i2', stateDir: foreign });
    const maker = start('unshare', ['--user', '--map-root-user', 'bash', '-c', rootlessScript, guest]);
    const lines = readLines(maker);
    const userNamespace = Number(/\d+/.exec((await lines.next()).value ?? '')?.[0]);
    expect((await lines.next()).value).toBe('ready');
    const init = Number(readFileSync(`/proc/${maker.pid}/task/${maker.pid}/children`, 'utf8'));
    await endOrphans({ userNamespace: userNamespace + 1, stateDir: own });
    await endOrphans({ userNamespace, stateDir: foreign });
    expect(identifyProcess(init)).toBeDefined();

    // The first process waits for one that entered its namespace, and that one for its parent.
    const visit = ['sh', '-c', 'echo in; sleep infinity; true'];
    const visitor = start('nsenter', ['--target', `${init}`, '--pid', ...visit]);
    expect((await readLines(visitor).next()).value).toBe('in');
    visitor.kill('SIGSTOP');
    await expect.poll(() => readFileSync(`/proc/${visitor.pid}/status`, 'utf8')).toContain('State:\tT');
    const left = endOrphans({ userNamespace, stateDir: own }).then(() => identifyProcess(init));
    await expect.poll(() => readFileSync(`/proc/${init}/cmdline`, 'utf8')).toBe('');
    await sleep(100);
    visitor.kill('SIGCONT');
    expect(await left).toBeUndefined();
    if (maker.exitCode === null && maker.signalCode === null) await once(maker, 'exit');
  });
});
