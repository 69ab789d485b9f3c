import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { expect, it, onTestFinished } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { startStack } from '../stack/stack.ts';

it('--access-log writes a line for each request of API, agent and ports, and none of the secrets that they carry', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-access-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'access.log');
  await using stack = await startStack({ args: ['--access-log', path] });
  const { apiKey } = stack.address;
  const { accessToken, sandboxId } = await stack.createSandbox({ network: { allowPublicTraffic: false } });
  const sandbox = await Sandbox.connect(sandboxId, stack.connection);
  const { trafficAccessToken = '' } = sandbox;
  await sandbox.files.write('/home/user/index.html', 'x'.repeat(50_000));
  const signed = await sandbox.downloadUrl('/home/user/index.html');
  expect((await fetchByHost(signed)).status).toBe(200);
  await sandbox.commands.run('cd /home/user && python3 -m http.server 8000 >/dev/null 2>&1', {
    background: true,
  });
  const withToken = { headers: { 'e2b-traffic-access-token': trafficAccessToken } };
  const get = (path: string) => fetchByHost(`${sandbox.getUrl(8000)}${path}`, withToken);
  await expect.poll(async () => (await get('/')).status, { timeout: 10_000 }).toBe(200);
  const link = new URL(await sandbox.getPrivateUrl(8000));
  const cookie = String((await fetchByHost(link.href)).headers['set-cookie']?.[0]?.split(';')[0]);
  await fetchByHost(sandbox.getUrl(8000), { headers: { cookie } });
  await get('/index.html');
  await get(`/${apiKey}?token=${trafficAccessToken}`);
  const { host, port } = new URL(sandbox.getUrl(8000));
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET /socket?secret=${trafficAccessToken} HTTP/1.1\r\nHost: ${host}\r\nE2b-Traffic-Access-Token: ${trafficAccessToken}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  );
  socket.resume();
  await once(socket, 'close');
  await sandbox.kill();
  await stack.stop();

  const text = readFileSync(path, 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const ofSandbox = { sandboxId, client: '127.0.0.1', protocol: 'HTTP/1.1' };
  const ofKey = { host: 'api', keyId: expect.stringMatching(/^[\da-f-]{36}$/), project: null };
  for (const expected of [
    { ...ofKey, method: 'POST', path: '/v2/sandboxes', status: 201, isComplete: true },
    { ...ofKey, method: 'DELETE', path: `/sandboxes/${sandboxId}`, status: 204 },
    { ...ofSandbox, host: 'agent', port: 49_983, method: 'GET', path: '/files', bytesOut: 50_000 },
    {
      ...ofSandbox,
      host: 'agent',
      port: 49_983,
      method: 'POST',
      path: '/files',
      bytesIn: expect.toSatisfy((bytes) => bytes >= 50_000),
    },
    { ...ofSandbox, host: 'port', port: 8000, path: '/', status: 200 },
    { ...ofSandbox, host: 'port', port: 8000, path: '/*', status: 200 },
    { ...ofSandbox, host: 'port', port: 8000, path: '/*', status: 404 },
  ])
    expect(lines).toContainEqual(expect.objectContaining(expected));
  const secrets = {
    apiKey,
    trafficAccessToken,
    signature: new URL(signed).searchParams.get('signature'),
    link: link.search,
    cookie: cookie.split('=')[1],
    accessToken,
  };
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret?.length, name).toBeGreaterThan(20);
    expect(text, name).not.toContain(secret);
  }
});
