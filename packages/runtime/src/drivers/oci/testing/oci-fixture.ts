import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { CLOSED_NETWORK, OPEN_NETWORK } from '../../../network/policy.ts';
import type { Instance, InstanceOrigin, InstanceSettings } from '../../../runtime.ts';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { prepareSuiteRootfs } from '../../../suite/rootfs.ts';
import { findTraces } from '../../../suite/traces.ts';
import { prepareCriu } from '../criu/prepare-criu.ts';
import { createOci, type OciDriver, type OciOptions } from '../oci.ts';

const MIB = 2 ** 20;
/** All tests of this host share it. */
const programsDir = '/var/cache/skerry';

/**
 * The OCI driver over a data folder of its own. Values that are not paths or functions exist when the first test
 * begins.
 */
export interface OciFixture {
  /** Contains everything else, and the files of tests. */
  readonly base: string;
  readonly dataDir: string;
  readonly stateDir: string;
  readonly agentDir: string;
  readonly rootfs: string;
  readonly criuDir: string | undefined;
  /** Where CRIU and gVisor are. */
  readonly programsDir: string;
  readonly runtime: OciDriver;
  /** Everything of a spec but its id and origin. */
  readonly settings: Omit<InstanceSettings, 'id'>;
  /** An id for a sandbox or a snapshot that no other has had. */
  toId(): string;
  /** Makes a sandbox of the suite's root, or of the given origin. */
  create(origin?: InstanceOrigin, hostname?: string): Promise<Instance>;
  /** Closes the runtime and opens it again on the same folder, as the next process does. */
  reopen(change?: Partial<OciOptions>): Promise<void>;
  /** What the sandboxes of all tests so far have left on the host. */
  traces(): Promise<string[]>;
}

/**
 * Provides a driver for the tests of a file, and checks that each leaves nothing on the host: call it once, outside of
 * `describe`. With `memory`, tests are skipped with a reason where CRIU does not work.
 */
export const useOci = (options: {
  /** Lower case; begins all ids. */
  name: string;
  memory?: boolean;
  internet?: boolean;
  /** Reserves slots in `stateDir`, not where all servers of this host do. */
  ownSlots?: boolean;
}): OciFixture => {
  const { name, memory = false, internet = false, ownSlots = false } = options;
  const base = join(tmpdir(), `runtime-${name}-${randomUUID().slice(0, 8)}`);
  const dataDir = join(base, 'data');
  const stateDir = join(base, 'state');
  const slots = ownSlots ? { stateDir } : {};
  let agentDir: string;
  let rootfs: string;
  let criuDir: string | undefined;
  let runtime: OciDriver;
  let missing = 'CRIU cannot work on this kernel';
  const ids: string[] = [];

  const open = (change: Partial<OciOptions> = {}): OciDriver =>
    createOci({ dataDir, agentDir, criuDir, ...slots, ...change });
  // Leave out the slots of other sandboxes: their links would look like leftovers.
  const traces = async (): Promise<string[]> =>
    (await findTraces({ dataDir, ids, ...slots })).filter(
      (trace) => !ownSlots || !trace.startsWith('interface'),
    );

  beforeAll(async () => {
    await mkdir(base, { mode: 0o700 });
    await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
    const findCriu = (): Promise<string | undefined> =>
      prepareCriu({ targetDir: programsDir }).catch((error: Error) => {
        missing = `${error.message}: ${String(error.cause)}`;
        return undefined;
      });
    [agentDir, rootfs, criuDir] = await Promise.all([
      prepareSuiteAgent(base),
      prepareSuiteRootfs(),
      memory ? findCriu() : undefined,
    ]);
    runtime = open();
  });
  beforeEach((context) => {
    if (!memory || runtime.features.pause.memory) return;
    console.warn(`skipped: ${missing}`);
    context.skip(missing);
  });
  afterEach(async () => {
    for await (const instance of runtime.list()) await instance.stop();
    for await (const { id } of runtime.snapshots.list()) await runtime.snapshots.delete(id);
    await expect.poll(traces).toEqual([]);
  });
  afterAll(async () => {
    await runtime?.close();
    await rm(base, { recursive: true, force: true });
  });

  const settings = {
    hostname: 'box',
    limits: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 },
    network: internet ? OPEN_NETWORK : CLOSED_NETWORK,
  };
  const toId = (): string => {
    const id = `${name}${process.pid}x${ids.length}`;
    ids.push(id);
    return id;
  };
  return {
    base,
    dataDir,
    stateDir,
    programsDir,
    get agentDir() {
      return agentDir;
    },
    get rootfs() {
      return rootfs;
    },
    get criuDir() {
      return criuDir;
    },
    get runtime() {
      return runtime;
    },
    settings,
    toId,
    create: (origin = { rootfs }, hostname = settings.hostname) =>
      runtime.create({ id: toId(), ...origin, ...settings, hostname }),
    reopen: async (change) => {
      await runtime.close();
      runtime = open(change);
    },
    traces,
  };
};
