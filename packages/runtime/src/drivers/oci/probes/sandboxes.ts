import { aptInstall, type ProbeResult } from '../../../probe.ts';
import { readCgroupLayout } from '../cgroup/cgroup.ts';
import { describeSocketBound } from '../cgroup/socket-memory.ts';
import { probeGvisorMemory, probeMemory } from './memory.ts';
import { prepareProbeAgent, probeGvisor, probeRuntime } from './sandbox.ts';

export interface SandboxProbeOptions {
  /** The bundle of the agent, which has to start commands in a sandbox that was resumed with its memory. */
  agentBundle: string;
  /** What `prepareCriu` made; otherwise that is tried as well. */
  criuDir?: string;
  /** A CRIU of this host that is tried in place of Debian's, where there is no `criuDir`. */
  criuProgram?: string;
  /** What `prepareRunsc` resolved with; otherwise that is tried as well. */
  runscPath?: string;
  /**
   * The folder of a server's programs. What is proved is kept there as the server keeps its own proofs, and programs that the host
   * lacks are fetched into it.
   */
  programsDir?: string | undefined;
  /** Ends a program that is being fetched. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts sandboxes with every OCI runtime and level, and pauses them with their memory. One of crun and runc is enough.
 */
export async function* probeSandboxes(
  dir: string,
  { agentBundle, criuDir, criuProgram, runscPath, programsDir, signal }: SandboxProbeOptions,
): AsyncGenerator<ProbeResult, void, undefined> {
  const agentDir = await prepareProbeAgent(dir).catch((error: Error) => error);
  if (agentDir instanceof Error) {
    yield { name: 'agent', ok: false, needed: true, found: agentDir.message, mend: aptInstall('tini') };
    return;
  }
  const runc = await probeRuntime({ name: 'runc', needed: false, dir, agentDir });
  yield await probeRuntime({ name: 'crun', needed: !runc.ok, dir, agentDir });
  yield runc;
  yield await probeMemory({ dir, agentBundle, criuDir, criuProgram, programsDir, signal });
  const gvisor = await probeGvisor({ dir, agentDir, runscPath, programsDir, signal });
  yield gvisor;
  if (gvisor.ok) yield await probeGvisorMemory({ dir, agentBundle, runscPath, programsDir, signal });
}

/** Whether the memory limit of a sandbox includes swap on this host. */
export function limitsSwap(): boolean {
  try {
    return readCgroupLayout().limitsSwap;
  } catch {
    // A host without memory cgroups enforces no limit at all, which the probe that starts a sandbox reports.
    return true;
  }
}

/** Reports what bounds the socket buffers of a sandbox; nothing on a host without memory cgroups. */
export function describeSockets(): ProbeResult[] {
  try {
    const found = describeSocketBound(readCgroupLayout());
    return [{ name: 'socket memory', ok: true, needed: false, found }];
  } catch {
    // See `limitsSwap`.
    return [];
  }
}
