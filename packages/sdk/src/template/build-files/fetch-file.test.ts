import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DockerfileError } from '../dockerfile/refused.ts';
import { fetchFile } from './fetch-file.ts';

const content = Buffer.alloc(300_000, 'content');
const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const options = { name: 'a b.bin', line: 7, signal: new AbortController().signal };

it('keeps the content of a URL in a file of that name until disposal, after redirects', async () => {
  const origin = await serve((request, response) => {
    if (request.url === '/old') response.writeHead(302, { location: '/new' }).end();
    else response.end(content);
  });
  const fetched = await fetchFile({ url: `${origin}/old`, checksum: digest }, options);
  const path = join(fetched.folder, 'a b.bin');
  expect(readFileSync(path).equals(content)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  fetched[Symbol.dispose]();
  expect(existsSync(fetched.folder)).toBe(false);
});

it.each([
  ['another answer than 200', '/none', undefined, 'the server answered 404'],
  ['another digest', '/file', `sha256:${'0'.repeat(64)}`, `has the digest ${digest}, not`],
  ['a content that breaks off', '/broken', undefined, 'cannot fetch'],
])('rejects with the line for %s', async (_what, path, checksum, message) => {
  const origin = await serve((request, response) => {
    if (request.url === '/none') response.writeHead(404).end();
    else if (request.url === '/broken') response.write('half', () => response.destroy());
    else response.end(content);
  });
  const error = await fetchFile({ url: origin + path, ...(checksum && { checksum }) }, options).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DockerfileError);
  expect(error).toMatchObject({ line: 7, message: expect.stringContaining(message) as string });
});

it('rejects with the line for a server that is not there, and with the reason of its signal', async () => {
  const refused = fetchFile({ url: 'http://127.0.0.1:1/' }, options);
  await expect(refused).rejects.toMatchObject({ name: 'DockerfileError', line: 7 });
  const aborting = new AbortController();
  const origin = await serve((_request, response) => {
    response.write('half');
    aborting.abort(new Error('enough'));
  });
  await expect(fetchFile({ url: origin }, { ...options, signal: aborting.signal })).rejects.toThrow('enough');
});
