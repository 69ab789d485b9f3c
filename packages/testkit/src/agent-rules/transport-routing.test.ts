import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { createPlatformCall } from './platform-calls.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
});
afterAll(() => stack.leave());

const call = createPlatformCall(() => stack);

/** `GET /health` of whatever these headers name. */
const ask = async (headers: Record<string, string>) => {
  const { hostname, port } = new URL(stack.address.apiUrl);
  const outgoing = request({ hostname, port, path: '/health', agent: false, headers }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, type: answer.headers['content-type'], text: await readText(answer) };
};
const shortText = {
  status: 400,
  type: 'text/plain; charset=utf-8',
  text: expect.stringMatching(/^.{1,120}\n$/),
};

describe('the routing headers', () => {
  it.each(['localhost', '127.0.0.1', '[::1]', 'sandbox.localhost', 'localhost:1234'])(
    'rule 10-46: on %s count as a pair, and one alone is refused',
    async (host) => {
      const [id, port] = [{ 'E2b-Sandbox-Id': sandbox.sandboxId }, { 'E2b-Sandbox-Port': '49983' }];
      expect((await ask({ host, ...id, ...port })).status).toBe(204);
      expect(await ask({ host, ...id })).toEqual(shortText);
      expect(await ask({ host, ...port })).toEqual(shortText);
    },
  );

  it('rule 10-46: do not count on a host that names a sandbox itself', async () => {
    const host = `49983-${sandbox.sandboxId}.${stack.address.domain}`;
    expect((await ask({ host, 'E2b-Sandbox-Id': 'inobody', 'E2b-Sandbox-Port': '1' })).status).toBe(204);
    expect((await ask({ host, 'E2b-Sandbox-Id': 'inobody' })).status).toBe(204);
  });
});

describe('the host name', () => {
  it.each([
    'attacker.example',
    'attacker.example:80',
    'localhost.attacker.example',
    'a.localhost',
    '127.0.0.1',
  ])('rule 11-7: is refused with 400 below the domain %s, which is not one of the server', async (domain) => {
    expect(await ask({ host: `49983-${sandbox.sandboxId}.${domain}` })).toEqual(shortText);
  });

  it.each(['http', '49983x', '0', '65536', '99999999', '-1', ''])(
    'rule 11-7: with the port "%s" is refused with 400',
    async (port) => {
      expect(await ask({ host: `${port}-${sandbox.sandboxId}.${stack.address.domain}` })).toEqual(shortText);
    },
  );

  it('rule 11-7: with a port where nothing listens is the 502 of a closed port', async () => {
    const { status, text } = await ask({ host: `7-${sandbox.sandboxId}.${stack.address.domain}` });
    expect([status, JSON.parse(text)]).toMatchObject([502, { code: 502, port: 7 }]);
  });
});

describe('the version of the agent', () => {
  it('rule 10-38: is a plain one and the same in create, connect, get and both lists', async () => {
    const created = await call('POST /v2/sandboxes', { body: '{"templateID":"base","timeout":60}' });
    const { sandboxID } = created.json as { sandboxID: string };
    const connected = await call(`POST /v2/sandboxes/${sandboxID}/connect`, { body: '{}' });
    const got = await call(`GET /sandboxes/${sandboxID}`);
    const lists = [await call('GET /sandboxes'), await call('GET /v2/sandboxes')];
    const versions = [created, connected, got].map(
      ({ json }) => (json as { envdVersion: string }).envdVersion,
    );
    const ours = [sandboxID, sandbox.sandboxId];
    for (const { json } of lists) {
      const listed = json as { sandboxID: string; envdVersion: string }[];
      const found = listed.filter((each) => ours.includes(each.sandboxID));
      expect(found).toHaveLength(2);
      versions.push(...found.map(({ envdVersion }) => envdVersion));
    }
    expect(new Set(versions)).toEqual(new Set(['0.6.13']));
    expect(versions[0]).toMatch(/^\d+\.\d+\.\d+$/);
    await call(`DELETE /sandboxes/${sandboxID}`);
  });
});
