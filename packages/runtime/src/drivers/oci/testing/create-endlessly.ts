// A program of the crash test: makes sandboxes, several at once and one after the other, until this process
// is killed.

import { CLOSED_NETWORK, OPEN_NETWORK } from '../../../network/policy.ts';
import { createOci } from '../oci.ts';

const [dataDir = '', agentDir = '', rootfs = '', prefix = '', runscPath] = process.argv.slice(2);
const runtime = createOci({ dataDir, agentDir, runscPath });
const MIB = 2 ** 20;

const createInTurn = async (lane: number): Promise<never> => {
  for (let turn = 0; ; turn++) {
    const instance = await runtime.create({
      id: `${prefix}l${lane}t${turn}`,
      rootfs,
      hostname: 'box',
      limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
      network: lane === 0 ? OPEN_NETWORK : CLOSED_NETWORK,
    });
    process.stdout.write('made\n');
    if (turn % 2 === 1) await instance.stop();
  }
};

process.stdout.write('go\n');
await Promise.all([0, 1].map(createInTurn));
