// The helper: holds the driver, and is the only process of skerry that forks. Its parent speaks to it over a unix
// socket. It ends when its stdin does, so it never outlives its parent; sandboxes outlive both.
import { once } from 'node:events';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { openDriver, parseDriver } from '../drivers/index.ts';
import { withHostLock } from '../kernel/host-lock.ts';
import { removeHelperRecord, writeHelperRecord } from './helper-record.ts';
import { normalizeProcess } from './normalize-process.ts';
import { serveRuntime } from './server.ts';

normalizeProcess();

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    socket: { type: 'string' },
    agent: { type: 'string' },
    state: { type: 'string' },
    driver: { type: 'string' },
    'starts-none': { type: 'boolean' },
    ground: { type: 'boolean' },
    closed: { type: 'string', multiple: true },
    cgroup: { type: 'string' },
  },
});
const { data: dataDir, socket: socketPath, agent: agentDir, state: stateDir, driver: driverJson } = values;
if (dataDir === undefined || socketPath === undefined || agentDir === undefined || driverJson === undefined) {
  console.error(
    'usage: main --data DIR --socket PATH --agent DIR --driver JSON [--state DIR] [--starts-none] [--ground [--closed IP]... [--cgroup DIR]]',
  );
  process.exit(2);
}
const ground = values.ground
  ? { hostAddresses: values.closed ?? [], cgroupFolder: values.cgroup }
  : undefined;

// A helper whose parent was killed may still be undoing what it made; the lock is free when it is gone.
await withHostLock(dirname(socketPath), async () => {
  writeHelperRecord(dataDir);
  const place = { dataDir, agentDir, stateDir, ground, startsNone: values['starts-none'] ?? false };
  const driver = await openDriver(parseDriver(driverJson), place);
  const server = await serveRuntime(driver.runtime, { socketPath, onError: (error) => console.error(error) });
  process.stdin.resume();
  process.stdout.write('ready\n');
  await Promise.race([once(process.stdin, 'close'), once(process, 'SIGTERM')]);
  // What is being made is unmade before we go. A parent that cannot wait may kill this process: the next helper does it then.
  await server.close();
  await driver.close();
  removeHelperRecord(dataDir);
});
process.exit(0);
