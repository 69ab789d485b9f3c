import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  describeRootlessNamespace,
  describeSockets,
  limitsSwap,
  type ProbedRootless,
  probeMounts,
  probeRootless,
  probeSandboxes,
  probeSeccomp,
  type SandboxProbeOptions,
  toCriuCommand,
} from '../drivers/index.ts';
import { probeNetwork } from '../network/probe-network.ts';
import type { ProbeResult } from '../probe.ts';
import { checkHost } from './check-host.ts';
import { checkDataFolder } from './data-folder.ts';
import { probeForwarding } from './forwarding.ts';
import { readHostFacts } from './host-facts.ts';
import { probeMmdebstrap, probeRoot, probeTini } from './programs.ts';
import { probeResolvers } from './resolvers.ts';
import { describeLimits } from './rootless-limits.ts';
import { describeUser, probeUser } from './user.ts';
import { describeVersions } from './versions/describe-versions.ts';

export interface ProbeOptions extends SandboxProbeOptions {
  scratchDir?: string;
  /**
   * Set where this process is root of a user's rootless namespace, in its network too: the results are those for that
   * user.
   */
  rootless?: ProbedRootless;
}

/**
 * Tries everything that sandboxes need of this host and yields each result as it ends. Says which versions are too old to be safe. Takes
 * a second or two, works in a folder of its own below `scratchDir`, which should be on the file system of the data folder, and leaves
 * nothing behind but what `programsDir` is for. Without root, of the host or of a rootless namespace, it reports what a rootless
 * namespace needs. Tries nothing on a host whose own settings exclude sandboxes.
 */
export async function* probeHost(options: ProbeOptions): AsyncGenerator<ProbeResult, void, undefined> {
  const root = await probeRoot();
  const isRoot = process.geteuid?.() === 0;
  if (!root.ok && isRoot) {
    yield root;
    return;
  }
  const isRootless = !isRoot || options.rootless !== undefined;
  const facts = readHostFacts();
  yield isRootless ? await describeUser() : root;
  const checks = checkHost({
    rootless: isRootless,
    facts,
    ...(isRootless ? {} : { limitsSwap: limitsSwap() }),
  });
  yield* checks;
  if (checks.some(({ ok, needed }) => needed && !ok)) return;
  if (isRoot) yield* tryParts(options);
  else yield* await probeUser(facts);
}

async function* tryParts(options: ProbeOptions): AsyncGenerator<ProbeResult, void, undefined> {
  const { rootless } = options;
  // Avoid /tmp, which may be in memory, where a loop device behaves differently.
  const parent = options.scratchDir ?? '/var/tmp';
  const folder = await mkdtemp(join(parent, 'skerry-probe-')).catch((error: Error) => error);
  if (folder instanceof Error) {
    yield toRefusedFolder(parent, folder);
    return;
  }
  try {
    if (rootless) yield describeRootlessNamespace();
    const refusedMount = checkDataFolder(await realpath(folder));
    if (refusedMount !== undefined) yield refusedMount;
    yield* await Promise.all([probeTini(), probeSeccomp(), probeMmdebstrap()]);
    if (rootless) {
      yield* describeLimits(rootless.stateDir);
      yield* probeRootless(folder, rootless);
      yield* await describeVersions();
      return;
    }
    yield* await probeMounts(folder);
    yield* describeSockets();
    const network = await probeNetwork({ dir: folder });
    yield network;
    if (network.ok) {
      yield await probeForwarding({ dir: folder });
      yield await probeResolvers();
    }
    yield* probeSandboxes(folder, options);
    yield* await describeVersions({
      criu: options.criuDir === undefined ? undefined : toCriuCommand(options.criuDir, 'criu'),
      runsc: [options.runscPath ?? 'runsc'],
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const toRefusedFolder = (parent: string, { message: found }: Error): ProbeResult => {
  const mend = `name a data folder with --data in a place where folders can be made; ${parent} is on the file system of this one`;
  return { name: 'data folder', ok: false, needed: true, found, mend };
};
