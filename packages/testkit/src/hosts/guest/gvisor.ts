import { strict as assert } from 'node:assert';
import { Sandbox } from '@skerry/sdk';
import { checkWork, shell } from './checks.ts';
import { checkFork, checkMemory } from './keeping.ts';
import { findServer, type Server, startServer, takeDown } from './server.ts';

/** In a folder of its own: the level of a data folder's sandboxes does not change. */
export const gvisorServer: Server = {
  dataDir: '/var/lib/skerry-gvisor',
  logPath: '/var/log/skerry-gvisor.log',
  args: ['--isolation', 'gvisor', '--port', '0'],
};

/** The level with a kernel of its own. */
export async function checkGvisor(): Promise<void> {
  if (await findServer()) await takeDown();
  const connection = await startServer(gvisorServer);
  try {
    const sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
    assert.match(await shell(sandbox, 'sudo dmesg | head -3; cat /proc/version'), /gVisor|4\.4\.0/);
    await checkWork(sandbox);
    await sandbox.kill();
    await checkMemory(connection);
    await checkFork(connection);
  } finally {
    await takeDown(gvisorServer);
  }
}
