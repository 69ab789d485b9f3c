import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPublicReach } from './reach.ts';
import { parseReference } from './reference.ts';
import { createRegistry, type Registry } from './registry.ts';
import { type LoopbackRegistry, startLoopbackRegistry } from './testing/loopback-registry.ts';

let server: LoopbackRegistry;
let closed: LoopbackRegistry;
beforeEach(async () => {
  server = await startLoopbackRegistry();
  closed = await startLoopbackRegistry();
  server.addImage('v1', []);
});
afterEach(() => Promise.all([server.close(), closed.close()]));

const connect = (host: string): Registry =>
  createRegistry({
    reference: parseReference(`${host}/some/image:v1`),
    reach: createPublicReach({ isPublicAddress: () => false, allowed: [server.host] }),
  });

const portOf = ({ host }: LoopbackRegistry): string => host.split(':')[1] ?? '';

const toRefusal = (host: string) => ({
  code: 'registry_refused',
  message: `registry ${host} is not at a public address; the operator can allow it by skerry up --registry ${host}`,
});

describe('createPublicReach', () => {
  it('reaches a registry that the operator allows', async () => {
    expect(await connect(server.host).manifest('v1')).toMatchObject({ document: { layers: [] } });
  });

  it('refuses another port of an allowed host, also by another name', async () => {
    await expect(connect(closed.host).manifest('v1')).rejects.toMatchObject(toRefusal(closed.host));
    const name = `localhost:${portOf(closed)}`;
    await expect(connect(name).manifest('v1')).rejects.toMatchObject(toRefusal(name));
    expect(closed.requests).toEqual([]);
  });

  it.each(['10.0.0.1:5000', '169.254.169.254', '[fd00::1]:5000'])(
    'refuses %s without a connection',
    async (host) => {
      await expect(connect(host).manifest('v1')).rejects.toMatchObject({ code: 'registry_refused' });
    },
  );

  it('tests every address of a name as it connects', async () => {
    // The host knows its own name.
    const url = new URL(`https://${hostname()}:${portOf(closed)}/`);
    const seen: string[] = [];
    const open = (isPublic: boolean) =>
      createPublicReach({
        isPublicAddress: (address) => seen.push(address) > 0 && isPublic,
        allowed: [],
      })(url, { headers: {}, signal: AbortSignal.timeout(10_000) });
    await expect(open(false)).rejects.toMatchObject(toRefusal(url.host));
    expect(seen.length).toBeGreaterThan(0);
    // Nothing there speaks TLS.
    await expect(open(true)).rejects.not.toMatchObject({ code: 'registry_refused' });
  });

  it('refuses a redirect and an issuer of tokens that are not public', async () => {
    server.intercept = (_, response) =>
      Boolean(response.writeHead(307, { location: `http://${closed.host}/x` }).end());
    await expect(connect(server.host).manifest('v1')).rejects.toMatchObject(toRefusal(closed.host));
    const challenge = `Bearer realm="http://${closed.host}/token"`;
    server.intercept = (_, response) =>
      Boolean(response.writeHead(401, { 'www-authenticate': challenge }).end());
    await expect(connect(server.host).manifest('v1')).rejects.toMatchObject(toRefusal(closed.host));
    expect(closed.requests).toEqual([]);
  });
});
