import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const BASE_ID = 900_000_000;
const SYS_RESOURCE = 1n << 24n;

/** Stands for CRIU's loader. */
const writeRights = (folder: string): string => `#!/bin/sh
case "$*" in
*' dump '*) cp /proc/self/status ${folder}/rights/dump ;;
*' restore '*) cp /proc/self/status ${folder}/rights/restore; echo 1 > ${folder}/pid ;;
*) echo found > /run/criu.kdat ;;
esac
`;

/** In a user namespace root has all capabilities, also on a host that withholds some from its root. */
const runAsNamespaceRoot = async (command: readonly string[]): Promise<void> => {
  const script = 'echo made; read -r _; exec "$@"';
  const child = spawn('unshare', ['--user', '--mount', 'sh', '-c', script, 'sh', ...command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${child.pid}/${map}`, '0 0 4294967295\n');
  child.stdin.end('go\n');
  expect(await ended).toEqual([0, null]);
};

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(`${tmpdir()}/criu-rights-`);
  chmodSync(folder, 0o755);
  for (const name of ['lib', 'images', 'rights']) mkdirSync(`${folder}/${name}`);
  for (const name of ['', '/images', '/rights']) chownSync(folder + name, BASE_ID, BASE_ID);
  // Make the program look like a CRIU that was changed to work as the owner of a sandbox.
  writeFileSync(`${folder}/criu`, '\0getegid\0');
  writeFileSync(`${folder}/lib/ld.so`, writeRights(folder));
  chmodSync(`${folder}/lib/ld.so`, 0o755);
  const lab = fileURLToPath(new URL('../testing/criu-lab.ts', import.meta.url));
  await runAsNamespaceRoot([process.execPath, lab, folder, String(BASE_ID)]);
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each(['dump', 'restore'])(
  'a %s has all capabilities but sys_resource, as the owner of the sandbox',
  (act) => {
    const status = readFileSync(`${folder}/rights/${act}`, 'utf8');
    const read = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '';
    const all = (1n << BigInt(Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'utf8')) + 1)) - 1n;
    for (const set of ['CapEff', 'CapPrm', 'CapInh', 'CapAmb'])
      expect([set, BigInt(`0x${read(set)}`)]).toEqual([set, all & ~SYS_RESOURCE]);
    // All that the program may get at most has it: what it lacks, it was not given.
    expect(BigInt(`0x${read('CapBnd')}`)).toBe(all);
    expect(read('Uid')).toBe(String(BASE_ID));
  },
);
