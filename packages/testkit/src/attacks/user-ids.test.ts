import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers } from './run-python.ts';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended, or the host has no such file.
  }
};

/** The user ids, as the host sees them, of all processes that are in a cgroup of the sandbox. */
const readOwners = (sandboxId: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/cgroup`).includes(`/${sandboxId}\n`))
    .flatMap((pid) =>
      [...(/^Uid:\s+([\d\s]+)$/m.exec(read(`/proc/${pid}/status`))?.[1]?.split(/\s+/) ?? [])].map(Number),
    )
    .filter((uid) => !Number.isNaN(uid));

/** The ranges that the host lends to its users. */
const readSubordinateRanges = (): { first: number; count: number }[] =>
  ['/etc/subuid', '/etc/subgid'].flatMap((path) =>
    read(path)
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(':').map(Number))
      .map(([, first = 0, count = 0]) => ({ first, count })),
  );

atEachLevel(({ open, attack }) => {
  attack(
    'being a user of the host, or of another sandbox, by a setuid program',
    'a user namespace with a range of ids of its own',
    async () => {
      const [one, other] = await Promise.all([open(), open()]);
      const script =
        'cp /usr/bin/sleep /tmp/sleep-$(id -u); chmod u+s /tmp/sleep-$(id -u); setsid /tmp/sleep-$(id -u) 60 >/dev/null 2>&1 </dev/null &';
      for (const sandbox of [one, other])
        for (const user of attackers) await sandbox.commands.run(script, { user });
      await one.commands.run('setsid /tmp/sleep-0 60 >/dev/null 2>&1 </dev/null &');
      const [owners, others] = [readOwners(one.sandboxId), readOwners(other.sandboxId)];
      expect(owners.length).toBeGreaterThan(0);
      const isLent = (uid: number): boolean =>
        readSubordinateRanges().some(({ first, count }) => uid >= first && uid < first + count);
      expect([...owners, ...others].filter((uid) => uid < 100_000 || isLent(uid))).toEqual([]);
      expect(owners.filter((uid) => others.includes(uid))).toEqual([]);
    },
  );
});
