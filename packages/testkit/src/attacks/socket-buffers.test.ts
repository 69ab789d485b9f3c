import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { fillSockets } from '../hosts/guest/fill-sockets.ts';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

const SANDBOX_MIB = 1024;

/** What the host can still give to programs. */
const readAvailableMib = (): number =>
  Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;

atEachLevel(({ open, attack }) => {
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
        // A sandbox that ends at its limit prints nothing.
        const printed = await runPython(sandbox, user, fillSockets).catch(() => '');
        expect(Number(printed)).toBeLessThan(SANDBOX_MIB);
        expect(before - readAvailableMib()).toBeLessThan(2 * SANDBOX_MIB);
        await sandbox.kill();
      }
    },
  );
});
