// The helper: holds the driver, and is the only process of skerry that forks. Its parent speaks to it over a unix
// socket. It ends when its stdin does, so it never outlives its parent; sandboxes outlive both.
import { once } from 'node:events';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { createOci } from './drivers/oci/oci.ts';
import { withHostLock } from './host-lock.ts';
import { serveRuntime } from './remote/server.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    socket: { type: 'string' },
    agent: { type: 'string' },
    state: { type: 'string' },
  },
});
const { data: dataDir, socket: socketPath, agent: agentDir, state: stateDir } = values;
if (dataDir === undefined || socketPath === undefined || agentDir === undefined) {
  console.error('usage: main --data DIR --socket PATH --agent DIR [--state DIR]');
  process.exit(2);
}

// A helper whose parent was killed may still be undoing what it made; the lock is free when it is gone.
await withHostLock(dirname(socketPath), async () => {
  const runtime = createOci({ dataDir, agentDir, ...(stateDir === undefined ? {} : { stateDir }) });
  const server = await serveRuntime(runtime, { socketPath, onError: (error) => console.error(error) });
  process.stdin.resume();
  process.stdout.write('ready\n');
  await Promise.race([once(process.stdin, 'close'), once(process, 'SIGTERM')]);
  // What is being made is unmade before we go. Whoever is in a hurry may kill us: the next helper does it then.
  await server.close();
  await runtime.close();
});
process.exit(0);
