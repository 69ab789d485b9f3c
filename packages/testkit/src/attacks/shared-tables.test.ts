import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';
import { takeWatches } from './take-watches.ts';

/** Opens as many files as it gets in each of three processes, which hold them for 20 seconds, and prints the most of one. */
const takeFiles = `
import os, time
readers = []
for one in range(3):
    reader, writer = os.pipe(); readers.append(reader)
    if os.fork() == 0:
        os.setsid(); os.closerange(0, 3); count = 0
        try:
            while count < 100000: os.open("/dev/null", os.O_RDONLY); count += 1
        except OSError: pass
        os.write(writer, str(count).encode()); time.sleep(20); os._exit(0)
print(max(int(os.read(reader, 20)) for reader in readers), flush=True)
`;

/** The files that all programs of the host have open, and how many may be. */
const readOpenFiles = (): { open: number; allowed: number } => {
  const [open = 0, , allowed = 0] = readFileSync('/proc/sys/fs/file-nr', 'utf8').split('\t').map(Number);
  return { open, allowed };
};

const PROCESSES = 1024;

atEachLevel(({ level, open, attack }) => {
  attack(
    'taking all inotify instances, so that others get none',
    { container: 'a count for each sandbox, by its user ids', gvisor: "the sentry's own" },
    async () => {
      const other = await open();
      for (const user of attackers)
        expect(Number(await runPython(await open(), user, takeWatches))).toBeGreaterThan(0);
      const watch = await other.files.watchDir('/tmp', { onEvent: () => {} });
      watch.stop();
      expect(Number(await runPython(other, 'user', takeWatches))).toBeGreaterThan(10);
    },
  );

  attack(
    'opening all files that the host can have open',
    { container: 'a limit for each process', gvisor: 'a limit for the sentry' },
    async () => {
      const { allowed } = readOpenFiles();
      for (const user of attackers) {
        const sandbox = await open();
        const before = readOpenFiles().open;
        const each = await runPython(sandbox, user, takeFiles).then(Number, () => undefined);
        const held = readOpenFiles().open - before;
        // At level gvisor a sandbox may end at its limit, and prints nothing then.
        if (each === undefined) expect([level, await sandbox.isRunning()]).toEqual(['gvisor', false]);
        else expect(each).toBeGreaterThan(1_000);
        expect(held).toBeLessThan(allowed / 2);
        // All processes that it may have, each with as many; those of a sentry are not files of the host.
        if (level === 'container') {
          expect(held).toBeGreaterThan(each ?? 0);
          expect((each ?? 0) * PROCESSES).toBeLessThanOrEqual(Math.max(allowed / 2, 4_096 * PROCESSES));
        }
        await sandbox.kill();
      }
    },
  );
});
