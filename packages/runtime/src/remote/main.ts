// The helper: holds the driver, and is the only process of skerry that forks. Its parent speaks to it over a unix
// socket. It ends when its stdin does, so it never outlives its parent; sandboxes outlive both.
import { once } from 'node:events';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { openDriver, parseDriver } from '../drivers/index.ts';
import { withHostLock } from '../kernel/host-lock.ts';
import { serveRuntime } from './server.ts';

// Root inside, who is nobody out here, is on its way through folders of ours; those that are nobody's affair say so themselves.
process.umask(0o022);

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
  },
});
const { data: dataDir, socket: socketPath, agent: agentDir, state: stateDir, driver: driverJson } = values;
if (dataDir === undefined || socketPath === undefined || agentDir === undefined || driverJson === undefined) {
  console.error(
    'usage: main --data DIR --socket PATH --agent DIR --driver JSON [--state DIR] [--starts-none] [--ground [--closed IP]...]',
  );
  process.exit(2);
}
const ground = values.ground ? { hostAddresses: values.closed ?? [] } : undefined;

// A helper whose parent was killed may still be undoing what it made; the lock is free when it is gone.
await withHostLock(dirname(socketPath), async () => {
  const place = { dataDir, agentDir, stateDir, ground, startsNone: values['starts-none'] ?? false };
  const driver = await openDriver(parseDriver(driverJson), place);
  const server = await serveRuntime(driver.runtime, { socketPath, onError: (error) => console.error(error) });
  process.stdin.resume();
  process.stdout.write('ready\n');
  await Promise.race([once(process.stdin, 'close'), once(process, 'SIGTERM')]);
  // What is being made is unmade before we go. Whoever is in a hurry may kill us: the next helper does it then.
  await server.close();
  await driver.close();
});
process.exit(0);
