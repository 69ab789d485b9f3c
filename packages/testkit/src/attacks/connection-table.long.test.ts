import type { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { atEachLevelAlone } from './attack.ts';
import { connectToAll } from './connect-to-all.ts';
import { addresses, type OutsideLab, startOutsideLab } from './outside.ts';
import { attackers, runPython } from './run-python.ts';

/** Packets that may be under way or late, and connections of the host itself. */
const SLACK = 100;

/** Sends to as many ports as its argument says, each of which is a connection for the tables of the kernel. */
const program = `
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    for port in range(1024, 1024 + int(sys.argv[1])):
        try: client.sendto(b"x", ("${addresses.internet}", port))
        except OSError: pass
`;

atEachLevelAlone(({ level, attack }) => {
  let lab: OutsideLab;
  beforeAll(async () => {
    lab = await startOutsideLab(level);
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());
  const read = (name: string): number =>
    Number(lab.onServer('cat', `/proc/sys/net/netfilter/nf_conntrack_${name}`));
  const internet = `${addresses.internet}:80`;

  attack(
    "filling the host's table of connections, so that others get none",
    {
      container: 'a limit of each sandbox, in its network and on the host',
      gvisor: 'a limit of each sandbox, on the host',
    },
    async () => {
      const limit = Math.min(8_192, Math.floor(read('max') / 128));
      const reach = async (sandbox: Sandbox): Promise<string | undefined> =>
        (await connectToAll(sandbox, 'user', [internet]))[internet];
      const bystander = await lab.network.createSandbox();
      expect(await reach(bystander)).toBe('reached');
      for (const user of attackers) {
        const sandbox = await lab.network.createSandbox();
        const before = read('count');
        await runPython(sandbox, user, program, String(limit + 3_000));
        // A sandbox that has fewer than it may have has not tried.
        expect(read('count') - before).toBeGreaterThan(limit - SLACK);
        expect(read('count') - before).toBeLessThan(limit + SLACK);
        expect(await reach(bystander)).toBe('reached');
      }
      expect(lab.onServer('curl', '-s', '-m', '10', '-w', '%{http_code}', `http://${internet}/`)).toBe('204');
    },
  );
});
