import { afterAll, beforeAll, expect } from 'vitest';
import { atEachLevelAlone } from './attack.ts';
import { connectToAll } from './connect-to-all.ts';
import { addresses, type OutsideLab, startOutsideLab } from './outside.ts';
import { attackers } from './run-python.ts';

const toTarget = (address: string): string => `${address}:80`;
const closed = [addresses.neighbour, addresses.onLink, addresses.server].map(toTarget);

atEachLevelAlone(({ level, attack }) => {
  let lab: OutsideLab;
  beforeAll(async () => {
    lab = await startOutsideLab(level);
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());

  attack(
    'connecting to a network that the host is directly attached to, with public addresses',
    'rules of nftables, by the links and routes of the host',
    async () => {
      // The host reaches all of them: what stops a sandbox is no wall around the network.
      for (const address of Object.values(addresses))
        expect(lab.onServer('curl', '-s', '-m', '10', '-w', '%{http_code}', `http://${address}/`)).toBe(
          '204',
        );
      const sandbox = await lab.network.createSandbox();
      const targets = [toTarget(addresses.internet), ...closed];
      for (const found of await Promise.all(attackers.map((user) => connectToAll(sandbox, user, targets)))) {
        expect(found[toTarget(addresses.internet)]).toBe('reached');
        expect(closed.filter((target) => found[target] === 'reached')).toEqual([]);
      }
    },
  );
});
