import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import { findTraces } from '../../../suite/traces.ts';
import { createOci } from '../oci.ts';

let base: string;
let dataDir: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'full-host-'));
  dataDir = join(base, 'data');
  await mkdir(dataDir);
  mount({ source: 'none', target: dataDir, type: 'tmpfs', flags: 0, data: 'size=2m' });
});
afterEach(async () => {
  unmountEvery(dataDir);
  await rm(base, { recursive: true, force: true });
});

it('rejects with "exhausted" and leaves nothing when the disk of the host is full', async () => {
  const runtime = createOci({ dataDir, agentDir: base });
  const filled = writeFile(join(dataDir, 'filler'), Buffer.alloc(3 * 2 ** 20));
  await expect(filled).rejects.toMatchObject({ code: 'ENOSPC' });
  const id = `full${process.pid}`;
  const created = runtime.create({
    id,
    rootfs: base,
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 2 ** 28, diskBytes: 2 ** 26, processCount: 64 },
    network: CLOSED_NETWORK,
  });
  await expect(created).rejects.toMatchObject({
    code: 'exhausted',
    message: expect.stringContaining('less than the reserve'),
  });
  expect(await readdir(dataDir)).not.toContain('sandboxes');
  expect((await findTraces({ dataDir, ids: [id] })).filter((trace) => !trace.startsWith('mount'))).toEqual(
    [],
  );
  await runtime.close();
});
