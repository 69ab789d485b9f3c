import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

const FILES = 20_000;
const NEWLINE = 10;

/** Makes empty files in each folder that it can write to, and prints how many there are. */
const program = `
import os
made = 0
for folder in (os.path.expanduser("~"), "/tmp", "/dev/shm", "/var/tmp"):
    try:
        for name in range(${FILES / 4}): os.close(os.open("%s/file-%d-%d" % (folder, os.getuid(), name), os.O_CREAT | os.O_WRONLY)); made += 1
    except OSError: pass
print(made)
`;

atEachLevel(({ open, server, attack }) => {
  attack(
    'using up the inodes of the host with empty files',
    'a file system of its own, in one file of the host',
    async () => {
      const sandbox = await open();
      // Files of the host: what is mounted there is not entered.
      const countFiles = (): number =>
        execFileSync('sh', ['-c', 'find "$0" -xdev 2>/dev/null || true', server().dataDir], {
          maxBuffer: 2 ** 28,
        }).filter((byte) => byte === NEWLINE).length;
      const before = countFiles();
      let made = 0;
      for (const user of attackers) made += Number(await runPython(sandbox, user, program));
      expect(made).toBeGreaterThan(FILES);
      // Other tests make and remove sandboxes meanwhile, each of a few files.
      expect(countFiles() - before).toBeLessThan(FILES / 10);
    },
  );
});
