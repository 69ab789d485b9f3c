import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { settleAll } from '../../../concurrency/settle-all.ts';
import { RuntimeError } from '../../../error.ts';
import type { Limits } from '../../../runtime.ts';
import type { CgroupLayout } from './cgroup.ts';
import { usableDevices } from './devices.ts';
import { toSocketBytes, toSocketSettings } from './socket-memory.ts';
import { allowDevices } from './workarounds/device-program.ts';

const CPU_PERIOD_US = 100_000;

/** The devices that an OCI runtime allows. */
const DEVICES = ['c *:* m', 'b *:* m', ...usableDevices.map((numbers) => `c ${numbers.join(':')} rwm`)];

/** The limits of a group. Those of its sockets follow from its memory where they are not given. */
export interface GroupLimits extends Limits {
  socketBytes?: number;
}

/**
 * Makes the cgroups of a sandbox that no OCI runtime starts, with its limits, and resolves with their `cgroup.procs`
 * files. Rejects with `unsupported` when the host lacks a controller for one of them; no work is in progress then.
 */
export const makeCgroup = async (
  layout: CgroupLayout,
  path: string,
  limits: GroupLimits,
): Promise<string[]> => {
  if (layout.version === 2) return [await makeUnified(layout, path, limits)];
  const trees = layout.trees.filter((tree) => basename(tree) !== 'unified');
  return settleAll(
    trees.map(async (tree) => {
      const folder = `${tree}${path}`;
      await mkdir(folder, { recursive: true });
      // Write synchronously, because the kernel keeps it in memory: handing the write to another thread costs
      // three times as much.
      for (const controller of basename(tree).split(',')) {
        for (const [file, value] of toSettings(controller, { layout, folder, limits }))
          writeFileSync(`${folder}/${file}`, value);
      }
      return `${folder}/cgroup.procs`;
    }),
  );
};

const makeUnified = async (layout: CgroupLayout, path: string, limits: Limits): Promise<string> => {
  const [root = ''] = layout.trees;
  const folder = `${root}${path}`;
  await mkdir(folder, { recursive: true });
  const wanted = Object.entries(toUnifiedSettings(layout, limits));
  const offered = readFileSync(`${root}/cgroup.controllers`, 'utf8').trim().split(' ');
  const isOffered = ([file]: [string, string]): boolean => offered.includes(toController(file));
  const settings = layout.isDelegated ? wanted.filter(isOffered) : wanted;
  const needed = [...new Set(settings.map(([file]) => toController(file)))];
  const missing = needed.filter((controller) => !offered.includes(controller));
  if (missing.length > 0)
    throw new RuntimeError('unsupported', `the host has no cgroup of ${missing.join(', ')}`);
  // Each group names the controllers of those below it.
  for (const above of [root, dirname(folder)])
    writeFileSync(`${above}/cgroup.subtree_control`, needed.map((controller) => `+${controller}`).join(' '));
  for (const [file, value] of settings) writeFileSync(`${folder}/${file}`, value);
  // The kernel allows no device nodes in a user namespace, and only root of the host may attach programs to
  // cgroups.
  if (!layout.isDelegated) allowDevices(folder);
  return `${folder}/cgroup.procs`;
};

const toController = (file: string): string => file.split('.')[0] ?? '';

/**
 * Returns the settings that an OCI runtime would make from the bundle. `memory.max` limits memory and swap
 * together, so none may be swap.
 */
export const toUnifiedSettings = (
  { limitsSwap }: Pick<CgroupLayout, 'limitsSwap'>,
  limits: Limits,
): Record<string, string> => ({
  'memory.max': String(limits.memoryBytes),
  ...(limitsSwap ? { 'memory.swap.max': '0' } : {}),
  'cpu.max': `${Math.round(limits.cpuCount * CPU_PERIOD_US)} ${CPU_PERIOD_US}`,
  'pids.max': String(limits.processCount),
});

/** The memory limits in a tree of version 1, in an order in which they can be lowered. */
export const toMemorySettings = (
  { limitsSwap }: Pick<CgroupLayout, 'limitsSwap'>,
  { memoryBytes }: Limits,
): [file: string, value: string][] => [
  ['memory.limit_in_bytes', String(memoryBytes)],
  ...(limitsSwap ? [['memory.memsw.limit_in_bytes', String(memoryBytes)] as [string, string]] : []),
];

const toSettings = (
  controller: string,
  { layout, folder, limits }: { layout: CgroupLayout; folder: string; limits: GroupLimits },
): [string, string][] => {
  switch (controller) {
    case 'memory':
      return [
        ...toMemorySettings(layout, limits),
        ...toSocketSettings(folder, limits.socketBytes ?? toSocketBytes(limits)),
      ];
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

/** A new cpuset is empty and accepts no member; its parent may be new as well. */
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
