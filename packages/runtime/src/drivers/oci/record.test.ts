import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OPEN_NETWORK } from '../../network/policy.ts';
import { keepRecord, readRecord, type SandboxRecord, writeRecord } from './record.ts';

let dir: string;
let path: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'record-'));
  path = join(dir, 'record.json');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const record: SandboxRecord = {
  version: 1,
  spec: {
    id: 'a1',
    rootfs: '/images/base',
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 1, diskBytes: 1, processCount: 1 },
    network: OPEN_NETWORK,
  },
  birthId: 'b1',
  runId: 'r1',
  slot: 7,
  diskBaseId: 558_852,
  phase: 'starting',
};

describe('the record of a sandbox', () => {
  it('is read as last written, and leaves no second file', async () => {
    await writeRecord(path, record);
    await writeRecord(path, { ...record, phase: 'pausing' });
    await keepRecord(path, { ...record, phase: 'ready' });
    expect(await readRecord(path)).toEqual({ ...record, phase: 'ready' });
    expect(await readdir(dir)).toEqual(['record.json']);
  });

  it('is undefined when there is none or when a power cut has left an incomplete one', async () => {
    expect(await readRecord(path)).toBeUndefined();
    expect(await readRecord(join(path, 'below'))).toBeUndefined();
    await writeFile(path, JSON.stringify(record).slice(0, 40));
    expect(await readRecord(path)).toBeUndefined();
  });
});
