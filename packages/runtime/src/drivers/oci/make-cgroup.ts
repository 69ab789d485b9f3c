import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
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
  const trees = layout.trees.filter((tree) => basename(tree) !== 'unified');
  return Promise.all(
    trees.map(async (tree) => {
      const folder = `${tree}${path}`;
      await mkdir(folder, { recursive: true });
      // Into the kernel's own memory: handing it to other threads costs three times as much.
      for (const controller of basename(tree).split(',')) {
        for (const [file, value] of toSettings(controller, { layout, folder, limits }))
          writeFileSync(`${folder}/${file}`, value);
      }
      return `${folder}/cgroup.procs`;
    }),
  );
};

const toSettings = (
  controller: string,
  { layout, folder, limits }: { layout: CgroupLayout; folder: string; limits: Limits },
): [string, string][] => {
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
const copyCpuset = (folder: string): [string, string][] => {
  const parent = dirname(folder);
  const found: [string, string][] = [];
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    let value = readFileSync(`${parent}/${file}`, 'utf8').trim();
    if (value === '') {
      value = readFileSync(`${dirname(parent)}/${file}`, 'utf8').trim();
      writeFileSync(`${parent}/${file}`, value);
    }
    found.push([file, value]);
  }
  return found;
};
