import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Limits } from '../../runtime.ts';
import type { CgroupLayout } from './cgroup.ts';

const CPU_PERIOD_US = 100_000;

/** Devices as an OCI runtime allows them: any may be made, these may be used. */
const DEVICES = [
  'c *:* m',
  'b *:* m',
  ...['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '136:*'].map((name) => `c ${name} rwm`),
];

/**
 * Makes the version 1 cgroups of a sandbox that no OCI runtime starts, with the limits that it had, and resolves with
 * the files that take its members.
 */
export const makeCgroup = async (layout: CgroupLayout, path: string, limits: Limits): Promise<string[]> => {
  const memberFiles: string[] = [];
  for (const tree of layout.trees) {
    const name = basename(tree);
    if (name === 'unified') continue;
    const folder = `${tree}${path}`;
    await mkdir(folder, { recursive: true });
    for (const controller of name.split(',')) {
      for (const [file, value] of await toSettings(controller, { layout, folder, limits }))
        await writeFile(`${folder}/${file}`, value);
    }
    memberFiles.push(`${folder}/cgroup.procs`);
  }
  return memberFiles;
};

const toSettings = async (
  controller: string,
  { layout, folder, limits }: { layout: CgroupLayout; folder: string; limits: Limits },
): Promise<[string, string][]> => {
  switch (controller) {
    case 'memory': {
      const bytes = String(limits.memoryBytes);
      const swap: [string, string][] = layout.limitsSwap ? [['memory.memsw.limit_in_bytes', bytes]] : [];
      return [['memory.limit_in_bytes', bytes], ...swap];
    }
    case 'cpu':
      return [
        ['cpu.cfs_period_us', String(CPU_PERIOD_US)],
        ['cpu.cfs_quota_us', String(Math.round(limits.cpuCount * CPU_PERIOD_US))],
      ];
    case 'pids':
      return [['pids.max', String(limits.processCount)]];
    case 'devices':
      return [['devices.deny', 'a'], ...DEVICES.map((device): [string, string] => ['devices.allow', device])];
    case 'cpuset':
      return copyCpuset(folder);
    default:
      return [];
  }
};

/** A new cpuset is empty and takes no member; its parent may be just as new. */
const copyCpuset = async (folder: string): Promise<[string, string][]> => {
  const parent = dirname(folder);
  const found: [string, string][] = [];
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    let value = (await readFile(`${parent}/${file}`, 'utf8')).trim();
    if (value === '') {
      value = (await readFile(`${dirname(parent)}/${file}`, 'utf8')).trim();
      await writeFile(`${parent}/${file}`, value);
    }
    found.push([file, value]);
  }
  return found;
};
