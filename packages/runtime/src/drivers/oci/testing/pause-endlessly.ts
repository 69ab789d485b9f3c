// A program of the crash test: makes one sandbox and then pauses and resumes it, until this process is
// killed. Prints which files inside are durable.

import { OPEN_NETWORK } from '../../../network/policy.ts';
import { runInside } from '../../../suite/client.ts';
import { createOci } from '../oci.ts';

const [dataDir = '', agentDir = '', rootfs = '', id = '', criuDir, runscPath] = process.argv.slice(2);
const runtime = createOci({ dataDir, agentDir, criuDir, runscPath, keepsMemory: true });
const MIB = 2 ** 20;

const instance = await runtime.create({
  id,
  rootfs,
  hostname: 'box',
  limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
  network: OPEN_NETWORK,
});
process.stdout.write('made\n');
for (let turn = 1; ; turn++) {
  await runInside(instance, `echo ${turn} > /root/${turn}; seq ${turn * 500} > /root/last`);
  await instance.pause({ memory: runtime.features.pause.memory });
  process.stdout.write(`kept ${turn}\n`);
  await instance.resume();
}
