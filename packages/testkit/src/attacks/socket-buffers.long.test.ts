import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { fillSockets } from '../hosts/guest/fill-sockets.ts';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

const SANDBOX_MIB = 1024;

/** What the host can still give to programs. */
const readAvailableMib = (): number =>
  Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;

atEachLevel(({ level, open, attack }) => {
  attack(
    'filling the memory of the host with data that no program reads',
    {
      container: 'a limit of socket buffers, or memory that is counted',
      gvisor: 'memory of the sentry, which is counted',
    },
    async () => {
      for (const user of attackers) {
        const sandbox = await open();
        const before = readAvailableMib();
        const taken = await runPython(sandbox, user, fillSockets).then(Number, () => undefined);
        // At level gvisor a sandbox may end at its limit, and prints nothing then.
        if (taken === undefined) expect([level, await sandbox.isRunning()]).toEqual(['gvisor', false]);
        else expect(taken).toBeGreaterThan(0);
        expect(taken ?? 0).toBeLessThan(SANDBOX_MIB);
        expect(before - readAvailableMib()).toBeLessThan(2 * SANDBOX_MIB);
        await sandbox.kill();
      }
    },
  );
});
