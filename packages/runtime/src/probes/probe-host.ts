import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readCgroupLayout } from '../drivers/oci/cgroup/cgroup.ts';
import { checkHost } from './check-host.ts';
import { checkDataFolder } from './data-folder.ts';
import { describeGround, probeGround } from './ground.ts';
import { readHostFacts } from './host-facts.ts';
import { probeGvisorMemory, probeMemory } from './memory.ts';
import { probeMounts } from './mounts.ts';
import { probeNetwork } from './network.ts';
import { aptInstall, type ProbedGround, type ProbeResult } from './probe.ts';
import { probeMmdebstrap, probeRoot, probeSeccomp, probeTini } from './programs.ts';
import { probeResolvers } from './resolvers.ts';
import { prepareProbeAgent, probeGvisor, probeRuntime } from './sandbox.ts';
import { describeUser, probeUser } from './user.ts';
import { probeWayOut } from './way-out.ts';

export interface ProbeOptions {
  /** The bundle of the agent, which has to start commands in a sandbox that was resumed with its memory. */
  agentBundle: string;
  scratchDir?: string;
  /** Where `prepareCriu` has unpacked it; otherwise that is tried as well. */
  criuDir?: string;
  /** What `prepareRunsc` resolved with; otherwise that is tried as well. */
  runscPath?: string;
  /** Where this process is root of a user's ground, in its network too: what is found is what that user can have. */
  ground?: ProbedGround;
}

/**
 * Tries everything that sandboxes need of this host, by doing it, and says of each how it went. Takes a second or two,
 * works in a folder of its own below `scratchDir`, which should be on the file system of the data folder, and leaves
 * nothing behind. Without root, of the host or of a ground, it says what a ground needs. Tries nothing on a host that
 * cannot run sandboxes by what it says of itself.
 */
export async function probeHost(options: ProbeOptions): Promise<ProbeResult[]> {
  const root = await probeRoot();
  const isRoot = process.geteuid?.() === 0;
  if (!root.ok && isRoot) return [root];
  const rootless = !isRoot || options.ground !== undefined;
  const facts = readHostFacts();
  const first = rootless ? await describeUser() : root;
  const checks = checkHost({ rootless, facts, ...(rootless ? {} : { limitsSwap: countsSwap() }) });
  if (checks.some(({ ok, needed }) => needed && !ok)) return [first, ...checks];
  return [first, ...checks, ...(isRoot ? await tryParts(options) : await probeUser(facts))];
}

async function tryParts(options: ProbeOptions): Promise<ProbeResult[]> {
  const { ground } = options;
  // Not in /tmp, which may be memory, on which a loop device behaves differently.
  const parent = options.scratchDir ?? '/var/tmp';
  const folder = await mkdtemp(join(parent, 'skerry-probe-')).catch((error: Error) => error);
  if (folder instanceof Error) return [toRefusedFolder(parent, folder)];
  try {
    const refusedMount = checkDataFolder(await realpath(folder));
    const mount = refusedMount === undefined ? [] : [refusedMount];
    const programs = await Promise.all([probeTini(), probeSeccomp(), probeMmdebstrap()]);
    if (ground) return [describeGround(), ...mount, ...programs, ...(await probeGround(folder, ground))];
    const mounts = await probeMounts(folder);
    const network = await probeNetwork({ dir: folder });
    const ways = network.ok ? [await probeWayOut({ dir: folder }), await probeResolvers()] : [];
    return [...mount, ...programs, ...mounts, network, ...ways, ...(await probeSandboxes(folder, options))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const toRefusedFolder = (parent: string, { message: found }: Error): ProbeResult => {
  const mend = `name a data folder by --data where a folder can be made; ${parent} is on the file system of this one`;
  return { name: 'data folder', ok: false, needed: true, found, mend };
};

function countsSwap(): boolean {
  try {
    return readCgroupLayout().limitsSwap;
  } catch {
    // A host without memory cgroups is told of by the sandbox that is started: it has no limit at all.
    return true;
  }
}

/** One of the two runtimes is enough; crun is three times as fast. */
async function probeSandboxes(
  dir: string,
  { agentBundle, criuDir, runscPath }: ProbeOptions,
): Promise<ProbeResult[]> {
  const agentDir = await prepareProbeAgent(dir).catch((error: Error) => error);
  if (agentDir instanceof Error) {
    return [{ name: 'agent', ok: false, needed: true, found: agentDir.message, mend: aptInstall('tini') }];
  }
  const runc = await probeRuntime({ name: 'runc', needed: false, dir, agentDir });
  const crun = await probeRuntime({ name: 'crun', needed: !runc.ok, dir, agentDir });
  const memory = await probeMemory({ dir, agentBundle, criuDir });
  const gvisor = await probeGvisor({ dir, agentDir, runscPath });
  // Without the one there is not the other.
  const gvisorMemory = gvisor.ok ? [await probeGvisorMemory({ dir, agentBundle, runscPath })] : [];
  return [crun, runc, memory, gvisor, ...gvisorMemory];
}
