import type { IsolationLevel } from '@skerry/contract/isolation';
import type { CpuFacts } from './cpu-facts.ts';

/** What a host has to have in common with the one that a checkpoint was taken on, to restore it. Plain data. */
export interface HostClass {
  cpuVendor: string;
  cpuFamily: string;
  cpuModel: string;
  /** The features that count, in the order of their names. */
  cpuFlags: string[];
  /** The kernel's release, such as `6.1.0-37-amd64`. */
  kernelRelease: string;
  /** The program that writes and restores checkpoints, with its version: `criu 4.2`. */
  checkpointer: string;
  /** `hybrid` where version 1 has the controllers, and a tree of version 2 others. */
  cgroupVersion: '1' | '2' | 'hybrid';
  level: IsolationLevel;
}

/** The class of a checkpoint: two hosts restore it in the same way when they are of its class and have both contents. */
export interface CompatibilityClass extends HostClass {
  /** The digest of the image below the files of the sandbox: processes have files of it open. */
  templateDigest: string;
  /** The digest of the agent's folder, whose files processes have open, too. */
  agentDigest: string;
}

/** What a host reports about itself. */
export interface HostClassFacts {
  cpu: CpuFacts;
  kernelRelease: string;
  checkpointer: { name: 'criu' | 'runsc'; version: string };
  cgroups: { version: 1 | 2; hybrid: boolean };
  level: IsolationLevel;
}

export const toHostClass = ({
  cpu,
  kernelRelease,
  checkpointer,
  cgroups,
  level,
}: HostClassFacts): HostClass => ({
  cpuVendor: cpu.vendor,
  cpuFamily: cpu.family,
  cpuModel: cpu.model,
  cpuFlags: cpu.flags,
  kernelRelease,
  checkpointer: `${checkpointer.name} ${checkpointer.version}`,
  cgroupVersion: cgroups.hybrid ? 'hybrid' : `${cgroups.version}`,
  level,
});
