import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describeGround, probeGround } from './ground.ts';
import { probeGvisorMemory, probeMemory } from './memory.ts';
import { probeMounts } from './mounts.ts';
import { probeNetwork } from './network.ts';
import { aptInstall, type ProbedGround, type ProbeResult } from './probe.ts';
import { probeMmdebstrap, probeRoot, probeSeccomp, probeTini } from './programs.ts';
import { prepareProbeAgent, probeGvisor, probeRuntime } from './sandbox.ts';
import { describeUser, probeUser } from './user.ts';

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
 * works in a folder of its own below `scratchDir` and leaves nothing behind. Without root, of the host or of a ground, it
 * says what a ground needs.
 */
export async function probeHost(options: ProbeOptions): Promise<ProbeResult[]> {
  const { ground } = options;
  const root = await probeRoot();
  if (!root.ok && process.geteuid?.() !== 0) return [await describeUser(), ...(await probeUser())];
  if (!root.ok) return [root];
  // On a disk: a file of /tmp may be memory, on which a loop device behaves differently.
  const dir = await mkdtemp(join(options.scratchDir ?? '/var/tmp', 'skerry-probe-'));
  try {
    const programs = await Promise.all([probeTini(), probeSeccomp(), probeMmdebstrap()]);
    if (ground)
      return [await describeUser(), describeGround(), ...programs, ...(await probeGround(dir, ground))];
    const mounts = await probeMounts(dir);
    const network = await probeNetwork({ dir });
    return [root, ...programs, ...mounts, network, ...(await probeSandboxes(dir, options))];
  } finally {
    await rm(dir, { recursive: true, force: true });
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
