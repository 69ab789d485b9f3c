import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const cgroups = '/sys/fs/cgroup';

/** The folder of the cgroup of the process with these arguments, as this host sees it. */
export async function findCgroup(args: string): Promise<string> {
  for (let tries = 0; tries < 60; tries += 1) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() !== args) continue;
        const path = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? '';
        return join(cgroups, path);
      } catch {
        // The process has ended since it was listed.
      }
    }
    await delay(500);
  }
  throw new Error(`no process of this host is "${args}"`);
}

/** Reads the limit of the cgroup, or of the next one above that has it. */
export function readLimit(cgroup: string, name: string): string {
  for (let folder = cgroup; folder.startsWith(`${cgroups}/`); folder = dirname(folder)) {
    const path = join(folder, name);
    const value = existsSync(path) ? readFileSync(path, 'utf8').trim() : 'max';
    if (!value.startsWith('max')) return value;
  }
  throw new Error(`neither ${cgroup} nor a cgroup above it has a limit in ${name}`);
}
