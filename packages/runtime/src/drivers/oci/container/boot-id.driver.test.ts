import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import type { Instance, Runtime } from '../../../runtime.ts';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { runInside } from '../../../suite/client.ts';
import { prepareSuiteRootfs } from '../../../suite/rootfs.ts';
import { createOci } from '../oci.ts';
import type { OciRuntimeName } from './oci-runtime.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const MIB = 2 ** 20;

let base: string;
let agentDir: string;
let rootfs: string;
const opened: Runtime[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'runtime-boot-'));
  [agentDir, rootfs] = await Promise.all([prepareSuiteAgent(base), prepareSuiteRootfs()]);
});
afterAll(async () => {
  for (const runtime of opened) {
    for await (const instance of runtime.list()) await instance.stop();
    await runtime.close();
  }
  await rm(base, { recursive: true, force: true });
});

const create = (ociRuntime: OciRuntimeName): Promise<Instance> => {
  const runtime = createOci({ dataDir: join(base, ociRuntime), agentDir, ociRuntime });
  opened.push(runtime);
  return runtime.create({
    id: `boot${process.pid}${ociRuntime}`,
    rootfs,
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
    network: CLOSED_NETWORK,
  });
};
const readBootId = async (instance: Instance): Promise<string> =>
  (await runInside(instance, `cat ${BOOT_ID}`)).output.trim();

it('shows each run a boot id of its own, which no process inside can change', async () => {
  const instance = await create('crun');
  const first = await readBootId(instance);
  expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(first).not.toBe(readFileSync(BOOT_ID, 'utf8').trim());
  await runInside(instance, `echo mine > ${BOOT_ID}; umount ${BOOT_ID}; mount -o remount,rw ${BOOT_ID}`);
  expect(await readBootId(instance)).toBe(first);
  await instance.pause({ memory: false });
  await instance.resume();
  expect(await readBootId(instance)).not.toBe(first);
});

it("shows the host's boot id where the runtime is runc, which mounts nothing there", async () => {
  expect(await readBootId(await create('runc'))).toBe(readFileSync(BOOT_ID, 'utf8').trim());
});
