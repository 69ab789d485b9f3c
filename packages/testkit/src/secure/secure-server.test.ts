import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeTrustedCertificate, type TrustedCertificate } from './trusted-certificate.ts';

let certificate: TrustedCertificate;
let stack: Stack;
let sandbox: Sandbox;
beforeAll(async () => {
  certificate = makeTrustedCertificate('localhost');
  stack = await startStack({
    args: [...certificate.args, '--hsts', '1d', '--http-redirect', '0', '--no-memory'],
  });
  sandbox = await Sandbox.create(stack.address);
});
afterAll(async () => {
  await stack.down();
  certificate[Symbol.dispose]();
});

const open = async (): Promise<ClientHttp2Session> => {
  const session = connect(stack.address.apiUrl);
  session.on('error', () => undefined);
  await once(session, 'connect');
  return session;
};
const ask = async (session: ClientHttp2Session, headers: OutgoingHttpHeaders, body = '') => {
  const stream = session.request({ 'x-api-key': stack.address.apiKey, ...headers });
  if (body !== '') stream.end(body);
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }];
  return { status: answer[':status'], headers: answer, body: await text(stream) };
};

it('names its addresses with https, and the library reaches API and sandboxes there', async () => {
  expect(stack.address.apiUrl).toMatch(/^https:\/\/localhost:\d+$/);
  const { stdout } = await sandbox.commands.run('echo hello');
  expect(stdout).toBe('hello\n');
  expect(sandbox.getUrl(3000)).toMatch(/^https:\/\/3000-/);
});

it('answers calls of the API over HTTP/2, and says for how long browsers use TLS alone', async () => {
  const session = await open();
  const listed = await ask(session, { ':path': '/v2/sandboxes' });
  expect(listed.status).toBe(200);
  expect(listed.body).toContain(sandbox.sandboxId);
  expect(listed.headers['strict-transport-security']).toBe('max-age=86400');
  const made = await ask(
    session,
    { ':method': 'POST', ':path': '/v2/sandboxes', 'content-type': 'application/json' },
    JSON.stringify({ templateID: 'base', timeout: 60 }),
  );
  expect(made.status).toBe(201);
  const { sandboxID } = JSON.parse(made.body) as { sandboxID: string };
  expect((await ask(session, { ':method': 'DELETE', ':path': `/sandboxes/${sandboxID}` })).status).toBe(204);
  session.destroy();
});

it('sends a caller of plain HTTP to the port with TLS', async () => {
  const [, port] = /sent to the port with TLS.*"port":(\d+)/.exec(stack.log()) ?? [];
  const answer = await fetch(`http://localhost:${port}/somewhere?a=b`, { redirect: 'manual' });
  expect(answer.status).toBe(308);
  expect(answer.headers.get('location')).toBe(`${stack.address.apiUrl}/somewhere?a=b`);
});

const readServed = async (): Promise<string> => {
  const socket = connectTls({ host: 'localhost', port: Number(new URL(stack.address.apiUrl).port) });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};

it('reads its certificate again when the files change, keeps it when they are broken, and loses no connection', async () => {
  const session = await open();
  const before = await readServed();
  const running = sandbox.commands.run('sleep 3; echo through');
  certificate.renew();
  await expect.poll(readServed).not.toBe(before);
  const after = await readServed();
  writeFileSync(certificate.keyFile, 'no key');
  await expect.poll(() => stack.log()).toContain('the changed certificate cannot be used');
  expect(await readServed()).toBe(after);
  expect((await running).stdout).toBe('through\n');
  expect((await ask(session, { ':path': '/v2/sandboxes' })).status).toBe(200);
  session.destroy();
});

it('stops while a client keeps a connection of HTTP/2 open, and ends it', { timeout: 60_000 }, async () => {
  const session = await open();
  // The server may reset the connection: `once` would take that error for a failure.
  const closed = new Promise<void>((resolve) => session.once('close', resolve));
  await stack.stop();
  await closed;
});
