import { afterAll, beforeAll, expect } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { attackFromOutside } from './attack.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

attackFromOutside(
  'showing a sandbox below a domain of the attacker',
  'the edge, which serves the configured domain and localhost alone',
  async () => {
    const { sandboxId } = await stack.createSandbox();
    const { apiUrl, domain } = stack.address;
    const ask = async (host: string, headers: Record<string, string> = {}) =>
      (await fetchByHost(`${apiUrl}/health`, { host, headers })).status;
    const name = `49983-${sandboxId}`;
    const routing = { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '49983' };
    for (const foreign of ['attacker.example', `${domain}.attacker.example`, '127.0.0.1', 'x.localhost']) {
      expect(await ask(`${name}.${foreign}`), foreign).toBe(400);
      expect(await ask(`${name}.${foreign}`, routing), foreign).toBe(400);
      // The platform's own route of that path, not the agent's.
      const isOurs = foreign === 'x.localhost';
      expect(await ask(foreign === '127.0.0.1' ? 'attacker.example' : foreign, routing), foreign).toBe(
        isOurs ? 200 : 400,
      );
    }
    expect(await ask('sandbox.attacker.example', routing)).toBe(400);
    expect([await ask(`${name}.${domain}`), await ask('127.0.0.1', routing)]).toEqual([204, 204]);
  },
);
