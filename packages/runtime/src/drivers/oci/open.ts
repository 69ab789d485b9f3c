import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureHostNetwork, removeHostNetwork } from '../../network/host.ts';
import type { Surroundings } from '../../network/rules.ts';
import { listSlots } from '../../network/slots.ts';
import type { OpenedDriver } from '../opened-driver.ts';
import { chooseRuntime } from './container/choose-runtime.ts';
import { ensureMemoryProof } from './criu/prove-memory.ts';
import type { GroundOptions } from './host-backend.ts';
import { createOci, type OciOptions } from './oci.ts';
import { toSurroundings } from './rootless-backend.ts';

/** Plain data: it travels from the server to the helper. */
export interface OciSettings {
  /** What `prepareCriu` made; memory is not kept at level `container` without. */
  criuDir?: string | undefined;
  /** What `prepareRunsc` resolved with: sandboxes are of level `gvisor` then, and else of level `container`. */
  runscPath?: string | undefined;
  /** Whether memory is kept at level `gvisor`. */
  keepsMemory?: boolean | undefined;
}

export interface OciPlace extends Pick<OciOptions, 'dataDir' | 'agentDir'> {
  stateDir: string | undefined;
  ground: GroundOptions | undefined;
  /** Sandboxes are only to be found and ended: what starts them is not tried then. */
  startsNone: boolean;
}

/**
 * Opens the OCI driver with what works on this host, found out by trying, and keeps the network of the host ready for its
 * sandboxes. What does not work is reported on stderr.
 */
export const openOci = async (settings: OciSettings, place: OciPlace): Promise<OpenedDriver> => {
  const { startsNone, stateDir, ...where } = place;
  const { dataDir, ground } = where;
  const { runscPath } = settings;
  const options: OciOptions = { ...where, runscPath, ...(stateDir !== undefined && { stateDir }) };
  const surroundings = toSurroundings(ground);
  const memory = await findMemory(options, settings);
  // Memory that is kept was proved by starting a sandbox; in a ground and with a kernel of its own there is one runtime only.
  const isSettled = startsNone || [memory.criuDir, ground, runscPath].some((one) => one !== undefined);
  const ociRuntime = isSettled ? undefined : await chooseRuntime(options, reportRefusal);
  const runtime = createOci({ ...options, ...memory, ...(ociRuntime && { ociRuntime }) });
  const keep = (): void => void keepHostNetwork({ dataDir, stateDir, surroundings });
  const rounds = setInterval(keep, 60_000);
  keep();
  return {
    runtime,
    close: async () => {
      await runtime.close();
      clearInterval(rounds);
      await removeHostNetwork({ stateDir });
    },
  };
};

/** A reload of the host's firewall flushes the rules of running sandboxes too. */
const keepHostNetwork = async ({
  dataDir,
  stateDir,
  surroundings,
}: {
  dataDir: string;
  stateDir: string | undefined;
  surroundings: Partial<Surroundings>;
}): Promise<void> => {
  try {
    if ((await listSlots({ dataDir, stateDir })).length > 0)
      await ensureHostNetwork({ stateDir, verify: true, ...surroundings });
  } catch (error) {
    console.error(error);
  }
};

/** What keeps memory here; nothing, and why on stderr, where it does not do what it is for. */
const findMemory = async (
  options: OciOptions,
  { criuDir, keepsMemory }: OciSettings,
): Promise<Pick<OciOptions, 'criuDir' | 'keepsMemory'>> => {
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
};

const reportRefusal = (name: string, reason: unknown): void =>
  console.error(`${name} starts no sandbox on this host:`, reason);
