import { expect, it } from 'vitest';
import type { Scheme } from './addresses.ts';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** Private ports, whose token the client has from the server. */
export function privatePortScenario(ask: Ask, scheme: Scheme): void {
  it('serves private ports only with the traffic token, also after a pause', async () => {
    const { Sandbox } = ask().e2b as unknown as NewestE2b;
    const sandbox = await Sandbox.create({ network: { allowPublicTraffic: false } });
    const token = sandbox.trafficAccessToken ?? '';
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    await sandbox.commands.run('python3 -m http.server 8000 --bind 127.0.0.1', { background: true });
    const url = `${scheme}://${sandbox.getHost(8000)}/`;
    const statusWith = async (headers: Record<string, string>) => (await fetch(url, { headers })).status;
    const own = { 'e2b-traffic-access-token': token };
    await expect.poll(() => statusWith(own)).toBe(200);
    expect(await statusWith({ 'X-Access-Token': token })).toBe(200);
    expect(await statusWith({})).toBe(403);
    expect(await statusWith({ 'e2b-traffic-access-token': `${token}0` })).toBe(403);
    await sandbox.pause();
    const resumed = await Sandbox.connect(sandbox.sandboxId);
    expect(resumed.trafficAccessToken).toBe(token);
    expect([await statusWith(own), await statusWith({})]).toEqual([200, 403]);
    await Sandbox.kill(sandbox.sandboxId);
  });
}
