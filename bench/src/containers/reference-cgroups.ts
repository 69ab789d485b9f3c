import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Removes the empty cgroups of this name, and what is below them, in every tree that the host has. */
export function removeCgroups(name: string): void {
  const trees = [ROOT, ...readdirSync(ROOT).map((entry) => join(ROOT, entry))];
  for (const tree of new Set(trees)) removeGroup(join(tree, name));
}

function removeGroup(path: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeGroup(join(path, entry.name));
  }
  rmdirSync(path);
}
