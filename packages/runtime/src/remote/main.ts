// The helper: holds the driver, and is the only process of skerry that forks. Its parent speaks to it over a unix
// socket. It ends when its stdin does, so it never outlives its parent; sandboxes outlive both.
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseRuntime } from '../drivers/oci/container/choose-runtime.ts';
import { ensureMemoryProof } from '../drivers/oci/criu/prove-memory.ts';
import { createOci, type OciOptions } from '../drivers/oci/oci.ts';
import { toSurroundings } from '../drivers/oci/user-means.ts';
import { withHostLock } from '../kernel/host-lock.ts';
import { ensureHostNetwork, removeHostNetwork } from '../network/host.ts';
import type { Surroundings } from '../network/rules.ts';
import { listSlots } from '../network/slots.ts';
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
    criu: { type: 'string' },
    runsc: { type: 'string' },
    'keep-memory': { type: 'boolean' },
    'starts-none': { type: 'boolean' },
    ground: { type: 'boolean' },
    closed: { type: 'string', multiple: true },
    cgroup: { type: 'string' },
  },
});
const {
  data: dataDir,
  socket: socketPath,
  agent: agentDir,
  state: stateDir,
  criu: criuDir,
  runsc: runscPath,
  'keep-memory': keepsMemory,
} = values;
if (dataDir === undefined || socketPath === undefined || agentDir === undefined) {
  console.error(
    'usage: main --data DIR --socket PATH --agent DIR [--state DIR] [--criu DIR] [--runsc PATH [--keep-memory]] [--starts-none] [--ground [--closed IP]... [--cgroup DIR]]',
  );
  process.exit(2);
}
const ground = values.ground
  ? { hostAddresses: values.closed ?? [], cgroupFolder: values.cgroup }
  : undefined;

/** Somebody who reloads the host's firewall flushes the rules of running sandboxes too. */
async function keepHostNetwork(surroundings: Partial<Surroundings>): Promise<void> {
  try {
    if ((await listSlots({ dataDir, stateDir })).length > 0)
      await ensureHostNetwork({ stateDir, verify: true, ...surroundings });
  } catch (error) {
    console.error(error);
  }
}

/** What keeps memory here; nothing, and why on stderr, where it does not do what it is for. */
async function findMemory(options: OciOptions): Promise<Pick<OciOptions, 'criuDir' | 'keepsMemory'>> {
  const keeper =
    options.runscPath === undefined
      ? criuDir && { with: { criuDir }, program: `${criuDir}/criu`, proofPath: `${criuDir}/proof.json` }
      : keepsMemory && {
          with: { keepsMemory },
          program: options.runscPath,
          proofPath: join(options.dataDir, 'run', 'gvisor-memory.json'),
        };
  if (!keeper) return {};
  const runtime = createOci({ ...options, ...keeper.with });
  try {
    const rootfs = join(options.dataDir, 'run', 'empty');
    await mkdir(rootfs, { recursive: true });
    const { program, proofPath } = keeper;
    await ensureMemoryProof(runtime, { program, proofPath, rootfs });
    return keeper.with;
  } catch (error) {
    console.error('memory of sandboxes is not kept:', error);
    return {};
  } finally {
    await runtime.close();
  }
}

const tellRefusal = (name: string, reason: unknown): void =>
  console.error(`${name} starts no sandbox on this host:`, reason);

// A helper whose parent was killed may still be undoing what it made; the lock is free when it is gone.
await withHostLock(dirname(socketPath), async () => {
  writeHelperRecord(dataDir);
  const options = { dataDir, agentDir, runscPath, ground, ...(stateDir === undefined ? {} : { stateDir }) };
  const surroundings = toSurroundings(ground);
  const memory = await findMemory(options);
  // Who keeps memory has started sandboxes; in a ground and with a kernel of its own there is one runtime only.
  const isSettled =
    values['starts-none'] || [memory.criuDir, ground, runscPath].some((one) => one !== undefined);
  const ociRuntime = isSettled ? undefined : await chooseRuntime(options, tellRefusal);
  const runtime = createOci({ ...options, ...memory, ...(ociRuntime && { ociRuntime }) });
  const server = await serveRuntime(runtime, { socketPath, onError: (error) => console.error(error) });
  const rounds = setInterval(() => void keepHostNetwork(surroundings), 60_000);
  void keepHostNetwork(surroundings);
  process.stdin.resume();
  process.stdout.write('ready\n');
  await Promise.race([once(process.stdin, 'close'), once(process, 'SIGTERM')]);
  // What is being made is unmade before we go. Whoever is in a hurry may kill us: the next helper does it then.
  await server.close();
  await runtime.close();
  clearInterval(rounds);
  await removeHostNetwork({ stateDir });
  removeHelperRecord(dataDir);
});
process.exit(0);
