// A program of the crash test: makes one sandbox, and then snapshots of it and sandboxes of those, until this
// process is killed. Prints which snapshots are durable, each with the number of the last file in it.

import { CLOSED_NETWORK } from '../../../network/policy.ts';
import { runInside } from '../../../suite/client.ts';
import { createOci } from '../oci.ts';

const [dataDir = '', agentDir = '', rootfs = '', id = '', runscPath] = process.argv.slice(2);
const runtime = createOci({ dataDir, agentDir, runscPath, keepsMemory: true });
const MIB = 2 ** 20;
const settings = {
  hostname: 'box',
  limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
  network: CLOSED_NETWORK,
};

const instance = await runtime.create({ id, rootfs, ...settings });
process.stdout.write('made\n');
for (let turn = 1; ; turn++) {
  await runInside(instance, `echo ${turn} > /root/${turn}; seq ${turn * 500} > /root/last`);
  const snapshot = `${id}s${turn}`;
  await instance.snapshot({ id: snapshot, memory: runtime.features.snapshot.memory });
  process.stdout.write(`kept ${turn}\n`);
  const copy = await runtime.create({ id: `${id}c${turn}`, snapshot, ...settings });
  await copy.stop();
  if (turn > 1) {
    await runtime.snapshots.delete(`${id}s${turn - 1}`);
    process.stdout.write(`deleted ${turn - 1}\n`);
  }
}
