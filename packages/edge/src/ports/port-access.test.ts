import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentHost, ask, host, id, net, useLoopback } from '../loopback-client.ts';

const trafficToken = 'traffic token of the sandbox';
const accessToken = 'token of its agent';
useLoopback({ accessToken, ports: { trafficToken } });

let seen: IncomingMessage[];
beforeEach(async () => {
  seen = [];
  const note = (request: IncomingMessage): void => void seen.push(request);
  for (const port of [8000, 49_983]) {
    const inside = await net.serve(id, port, (request, response) => {
      note(request);
      response.end('inside');
    });
    inside.on('upgrade', (request, socket) => {
      note(request);
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    });
  }
});
const upgrade = async (headers: string): Promise<string> => {
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${host(8000)}\r\nConnection: Upgrade\r\nUpgrade: x\r\n${headers}\r\n`,
  );
  return text(socket);
};
const refusal = (problem: string) => ({
  sandboxID: id,
  sandboxId: id,
  message: `The ports of the sandbox are private: the header e2b-traffic-access-token ${problem}`,
  code: 403,
});

describe('a private port', () => {
  it.each([
    ['no token', {}, 'is missing'],
    ['an empty one', { 'e2b-traffic-access-token': '' }, 'has a wrong token'],
    ['a wrong one', { 'e2b-traffic-access-token': 'x' }, 'has a wrong token'],
    ['the beginning of it', { 'e2b-traffic-access-token': trafficToken.slice(0, -1) }, 'has a wrong token'],
    ['more than it', { 'e2b-traffic-access-token': `${trafficToken}x` }, 'has a wrong token'],
    ['the token of the agent', { 'e2b-traffic-access-token': accessToken }, 'has a wrong token'],
    ['the token of the agent in its header', { 'x-access-token': accessToken }, 'is missing'],
    ['the token in the address', { referer: `http://a/?${trafficToken}` }, 'is missing'],
  ])('refuses a request with %s', async (_what, headers, problem) => {
    const answer = await ask({ host: host(8000), ...headers });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toEqual(refusal(problem));
    expect(seen).toEqual([]);
  });

  it('does not say whether a program listens there', async () => {
    expect(await ask({ host: host(9999) })).toMatchObject({ status: 403 });
    expect(net.refusals()).toBe(0);
  });

  it('refuses an upgrade without the token, and takes one with it', async () => {
    expect(await upgrade('')).toMatch(/^HTTP\/1\.1 403 /);
    expect(seen).toEqual([]);
    expect(await upgrade(`E2B-Traffic-Access-Token: ${trafficToken}\r\n`)).toMatch(/^HTTP\/1\.1 101 /);
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(trafficToken);
  });

  it.each(['e2b-traffic-access-token', 'E2B-Traffic-Access-Token', 'X-Access-Token'])(
    'serves a request with the token in %s, which the program does not see',
    async (name) => {
      const answer = await ask({ host: host(8000), [name]: trafficToken, 'X-Own': 'kept' });
      expect(answer).toMatchObject({ status: 200, text: 'inside' });
      expect(seen[0]?.headers).toMatchObject({ 'x-own': 'kept' });
      expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(trafficToken);
    },
  );

  it('hides the token in one header when the other allows the request', async () => {
    await ask({ host: host(8000), 'E2b-Traffic-Access-Token': trafficToken, 'X-Access-Token': trafficToken });
    await ask({
      host: host(8000),
      'E2b-Traffic-Access-Token': trafficToken,
      'X-Access-Token': 'of the program',
    });
    expect(JSON.stringify(seen.map(({ rawHeaders }) => rawHeaders))).not.toContain(trafficToken);
    expect(seen[1]?.headers).toMatchObject({ 'x-access-token': 'of the program' });
  });

  it('asks for the token by the routing headers too', async () => {
    const routed = { host: 'shared.test', 'E2b-Sandbox-Id': id, 'E2b-Sandbox-Port': '8000' };
    expect(await ask(routed)).toMatchObject({ status: 403 });
    expect(await ask({ ...routed, 'e2b-traffic-access-token': trafficToken })).toMatchObject({ status: 200 });
  });

  it('lets a page of another origin read the refusal', async () => {
    const origin = { host: host(8000), origin: 'https://page.test' };
    const preflight = { ...origin, 'access-control-request-method': 'GET' };
    expect(await ask(preflight, { method: 'OPTIONS' })).toMatchObject({ status: 204 });
    expect((await ask(origin)).headers).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(seen).toEqual([]);
  });

  it('is not that of the agent, which asks for its own token and sees neither', async () => {
    expect(await ask({ host: agentHost, 'e2b-traffic-access-token': trafficToken })).toMatchObject({
      status: 401,
    });
    const both = { 'X-Access-Token': accessToken, 'e2b-traffic-access-token': trafficToken };
    expect(await ask({ host: agentHost, ...both }, { path: '/envs' })).toMatchObject({ status: 200 });
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(trafficToken);
  });

  it('leaves no token in the log when the program does not answer', async () => {
    const inside = await net.serveTcp(id, 8001, (socket) => socket.destroy());
    await ask({ host: host(8001), 'e2b-traffic-access-token': trafficToken }, { method: 'POST' });
    inside.close();
    await once(inside, 'close');
    expect(net.warnings).toHaveLength(1);
    expect(JSON.stringify(net.warnings)).not.toContain(trafficToken);
  });
});
