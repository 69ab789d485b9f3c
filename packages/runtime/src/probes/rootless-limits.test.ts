import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { identifyProcess, type ProcessIdentity, readBootId } from '../kernel/process-identity.ts';
import { writeRootlessRecord } from '../rootless/record.ts';
import { describeLimits } from './rootless-limits.ts';

/** The state of a rootless namespace that this process holds. */
const writeState = async (controllers: string[]): Promise<string> => {
  const stateDir = mkdtempSync(join(tmpdir(), 'skerry-limits-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const holder = identifyProcess(process.pid) as ProcessIdentity;
  const limits = { unit: 'skerry-1.scope', path: '/user.slice/skerry-1.scope', user: 'ann', controllers };
  await writeRootlessRecord(stateDir, { version: 1, bootId: readBootId(), holder, userNamespace: 1, limits });
  return stateDir;
};

const findRow = (stateDir: string, name: string) => describeLimits(stateDir).find((row) => row.name === name);

it('reports that the cpu has no limit, and how to change that, where its controller is not delegated', async () => {
  const stateDir = await writeState(['memory', 'pids']);
  expect(findRow(stateDir, 'limits')).toMatchObject({
    ok: true,
    found: 'memory and processes of a sandbox have some, by cgroups of skerry-1.scope',
  });
  expect(findRow(stateDir, 'cpu limit')).toMatchObject({
    ok: false,
    needed: false,
    found: 'the cpu of a sandbox has none: the cgroups of ann have no controllers for cpu',
    mend: expect.stringContaining('Delegate=cpu memory pids'),
  });
});

it('names all limits where all controllers are delegated', async () => {
  const stateDir = await writeState(['cpu', 'memory', 'pids']);
  expect(findRow(stateDir, 'limits')?.found).toMatch(/^cpu, memory and processes of a sandbox have some/);
  expect(findRow(stateDir, 'cpu limit')).toBeUndefined();
});
