import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { type Answer, startAgent, type TestAgent } from '../testing/start-agent.ts';
import { createSignature } from './signature.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

const query = (values: Record<string, string>): string => `/files?${new URLSearchParams(values)}`;
const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  agent.http({ path: query({ path }), headers });
const put = (
  path: string | undefined,
  body: string | Uint8Array | AsyncIterable<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  agent.http({
    method: 'POST',
    path: query(path === undefined ? {} : { path }),
    headers: { 'content-type': 'application/octet-stream', ...headers },
    body,
  });

interface Part {
  name?: string;
  filename?: string;
  body: string;
}
const multipart = (
  path: string | undefined,
  parts: Part[],
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const text = parts.map(({ name = 'file', filename, body }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    return `--B\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${body}\r\n`;
  });
  return put(path, `${text.join('')}--B--\r\n`, {
    'content-type': 'multipart/form-data; boundary=B',
    ...headers,
  });
};

describe('GET /files', () => {
  it('sends the bytes as octet-stream with length, name and Vary', async () => {
    writeFileSync(join(agent.dir, 'a b.txt'), 'hello');
    const { status, headers, body } = await get(join(agent.dir, 'a b.txt'));
    expect([status, body.toString()]).toEqual([200, 'hello']);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '5',
      'content-disposition': 'inline; filename="a b.txt"',
      vary: 'Accept-Encoding',
    });
  });

  it('sends an empty file with length 0', async () => {
    writeFileSync(join(agent.dir, 'empty'), '');
    const { status, headers, body } = await get(join(agent.dir, 'empty'), { 'accept-encoding': 'gzip' });
    expect([status, headers['content-length'], body.length]).toEqual([200, '0', 0]);
  });

  it('sends a file of /proc, which claims to be empty', async () => {
    expect((await get('/proc/version')).body.toString()).toMatch(/^Linux/);
  });

  it('starts relative paths and ~ at the home of the user', async () => {
    writeFileSync(join(agent.home, 'mine.txt'), 'at home');
    expect((await get('mine.txt')).body.toString()).toBe('at home');
    expect((await get('~/mine.txt')).body.toString()).toBe('at home');
    expect((await agent.http({ path: query({ path: 'mine.txt', username: 'root' }) })).status).toBe(404);
  });

  it('follows links', async () => {
    writeFileSync(join(agent.dir, 'target'), 'there');
    symlinkSync('target', join(agent.dir, 'link'));
    expect((await get(join(agent.dir, 'link'))).body.toString()).toBe('there');
  });

  it.each([
    ['a missing file', '/no/such', 404],
    ['a path below a file', '/etc/passwd/x', 404],
    ['a directory', '/etc', 400],
    ['the home of another user', '~root/x', 400],
    ['a device', '/dev/zero', 400],
    ['a name that is too long', `/${'x'.repeat(300)}`, 400],
    ['a NUL byte', 'a\0b', 400],
    ['the empty path, which is the home', '', 400],
  ])('refuses %s', async (_what, path, code) => {
    const { status, json } = await get(path);
    expect([status, json]).toMatchObject([code, { code, message: expect.any(String) }]);
  });

  it('refuses a FIFO instead of waiting for a writer', async () => {
    const fifo = join(agent.dir, 'fifo');
    await collectOutput(agent.processes().start({ process: { cmd: 'mkfifo', args: [fifo] } }));
    expect((await get(fifo)).status).toBe(400);
    expect((await put(fifo, 'x')).status).toBe(400);
  });

  it('refuses an unknown user with 401', async () => {
    const { status, json } = await agent.http({ path: query({ path: 'x', username: 'nobody-here' }) });
    expect([status, json]).toEqual([401, { code: 401, message: "invalid username: 'nobody-here'" }]);
  });

  it('streams a large file with little memory', async () => {
    const path = join(agent.dir, 'large');
    writeFileSync(path, '');
    truncateSync(path, 300 * 1024 * 1024);
    const { body } = await get(path);
    expect(body.length).toBe(300 * 1024 * 1024);
    const rss = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${agent.pid}/status`, 'utf8'))?.[1]);
    expect(rss).toBeLessThan(200 * 1024);
  });

  it('lets go of the file when the caller goes away in the middle', async () => {
    const path = join(agent.dir, 'unwanted');
    writeFileSync(path, '');
    truncateSync(path, 200 * 1024 * 1024);
    const isOpen = (): boolean =>
      readdirSync(`/proc/${agent.pid}/fd`).some((fd) => {
        const target = join(`/proc/${agent.pid}/fd`, fd);
        return existsSync(target) && readlinkSync(target) === path;
      });
    const outgoing = request({ socketPath: join(agent.socketDir, 'http.sock'), path: query({ path }) });
    outgoing.once('response', (response) => response.pause());
    outgoing.end();
    while (!isOpen()) await delay(5);
    outgoing.on('error', () => undefined).destroy();
    while (isOpen()) await delay(5);
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });

  it('breaks the connection when the file shrinks under way, instead of ending it short', async () => {
    const path = join(agent.dir, 'shrinking');
    writeFileSync(path, '');
    truncateSync(path, 200 * 1024 * 1024);
    const failed = new Promise<string>((resolve) => {
      const outgoing = request({
        socketPath: join(agent.socketDir, 'http.sock'),
        path: query({ path }),
      });
      outgoing.once('response', (response) => {
        response.pause();
        truncateSync(path, 1000);
        response.once('error', (error) => resolve(error.message));
        response.once('end', () => resolve('a clean end'));
        response.resume();
      });
      outgoing.end();
    });
    expect(await failed).toBe('aborted');
  });
});

describe('the encoding of a download', () => {
  const text = 'compress me '.repeat(100);
  const path = (): string => join(agent.dir, 'text');
  beforeAll(() => writeFileSync(path(), text));

  it.each(['gzip', 'gzip, deflate', 'gzip;q=1.0, identity;q=0.5', 'identity;q=0, *', 'GZIP;q=0.1'])(
    'is gzip for "%s"',
    async (accept) => {
      const { headers, body } = await get(path(), { 'accept-encoding': accept });
      expect(headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(body).toString()).toBe(text);
    },
  );

  it.each(['', 'identity', 'br', 'gzip;q=0', 'gzip;q=0.5, identity', '*', 'gzip;q=0.3, identity;q=0.3'])(
    'is identity for "%s"',
    async (accept) => {
      const { headers, body } = await get(path(), { 'accept-encoding': accept });
      expect(headers).not.toHaveProperty('content-encoding');
      expect(body.toString()).toBe(text);
    },
  );

  it.each([
    ['identity;q=0', {}],
    ['br, identity;q=0', {}],
    ['*;q=0', {}],
    ['gzip, identity;q=0', { range: 'bytes=0-1' }],
  ])('is refused with 406 for "%s"', async (accept, headers) => {
    const { status, json } = await get(path(), { 'accept-encoding': accept, ...headers });
    expect(status).toBe(406);
    expect(json).toMatchObject({ code: 406, message: expect.stringMatching(/identity.*gzip/) });
  });
});

describe('a part of a download', () => {
  const path = (): string => join(agent.dir, 'ten');
  beforeAll(() => writeFileSync(path(), '0123456789'));

  it.each([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=5-100', '56789', 'bytes 5-9/10'],
    ['bytes=-100', '0123456789', 'bytes 0-9/10'],
  ])('is 206 for "%s", never compressed', async (range, text, contentRange) => {
    const { status, headers, body } = await get(path(), { range, 'accept-encoding': 'gzip' });
    expect([status, body.toString(), headers['content-range']]).toEqual([206, text, contentRange]);
    expect(headers['content-length']).toBe(String(text.length));
  });

  it('is 416 with the size when the file has no such bytes', async () => {
    const { status, headers, json } = await get(path(), { range: 'bytes=10-' });
    expect([status, headers['content-range'], json]).toMatchObject([416, 'bytes */10', { code: 416 }]);
  });

  it.each(['lines=1-2', 'bytes=4-2', 'bytes=0-1,3-4'])('is the whole file for "%s"', async (range) => {
    const { status, body } = await get(path(), { range });
    expect([status, body.toString()]).toEqual([200, '0123456789']);
  });

  it('is 304 when the caller has this state, and whole when If-Range is another', async () => {
    const { headers } = await get(path());
    const etag = String(headers.etag);
    const date = String(headers['last-modified']);
    expect((await get(path(), { 'if-none-match': etag })).status).toBe(304);
    expect((await get(path(), { 'if-modified-since': date })).status).toBe(304);
    expect((await get(path(), { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await get(path(), { 'if-match': '"other"' })).status).toBe(412);
    expect((await get(path(), { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    expect((await get(path(), { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
  });
});

describe('POST /files with a raw body', () => {
  it('writes the file, makes parents, and everything belongs to the user', async () => {
    const path = join(agent.dir, 'new/deep/file.bin');
    const { status, headers, json } = await put(path, 'content');
    expect([status, headers['content-type'], json]).toEqual([
      200,
      'application/json',
      [{ path, name: 'file.bin', type: 'file' }],
    ]);
    expect(readFileSync(path, 'utf8')).toBe('content');
    expect(statSync(path)).toMatchObject({ uid: 1000, gid: 1000 });
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(statSync(join(agent.dir, 'new'))).toMatchObject({ uid: 1000, gid: 1000 });
    expect(statSync(join(agent.dir, 'new')).mode & 0o777).toBe(0o755);
  });

  it('overwrites in place and keeps the mode', async () => {
    const path = join(agent.dir, 'script.sh');
    writeFileSync(path, 'much longer than what follows');
    chmodSync(path, 0o750);
    const inode = statSync(path).ino;
    await put(path, 'short');
    expect(readFileSync(path, 'utf8')).toBe('short');
    expect(statSync(path)).toMatchObject({ ino: inode });
    expect(statSync(path).mode & 0o777).toBe(0o750);
  });

  it('writes 64 MiB that arrive in pieces, byte for byte', async () => {
    const path = join(agent.dir, 'big.bin');
    const piece = randomBytes(1024 * 1024);
    const hash = createHash('sha256');
    const body = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 64; at += 1) {
        piece[0] = at;
        hash.update(piece);
        yield Buffer.from(piece);
      }
    };
    expect((await put(path, body())).status).toBe(200);
    expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(hash.digest('hex'));
  });

  it('inflates a gzip body, and refuses other encodings and bad gzip', async () => {
    const path = join(agent.dir, 'inflated');
    await put(path, gzipSync('packed'), { 'content-encoding': 'gzip' });
    expect(readFileSync(path, 'utf8')).toBe('packed');
    expect((await put(path, 'x', { 'content-encoding': 'br' })).status).toBe(400);
    const bad = await put(join(agent.dir, 'not-made'), 'no gzip', { 'content-encoding': 'gzip' });
    expect([bad.status, bad.json]).toEqual([400, { code: 400, message: 'the body is not valid gzip' }]);
    const cut = gzipSync(randomBytes(100_000)).subarray(0, 50_000);
    expect((await put(join(agent.dir, 'not-made'), cut, { 'content-encoding': 'gzip' })).status).toBe(400);
    expect(existsSync(join(agent.dir, 'not-made'))).toBe(false);
  });

  it.each([
    ['no path', undefined, { 'content-type': 'application/octet-stream' }, 400],
    ['no content type', '/tmp/x', { 'content-type': '' }, 400],
    ['another content type', '/tmp/x', { 'content-type': 'text/plain' }, 400],
    ['a directory as target', '/etc', {}, 400],
    ['a device as target', '/dev/null', {}, 400],
    ['a file in place of a parent', '/etc/passwd/x/y', {}, 500],
    ['a relative path of another home', '~root/x', {}, 400],
  ])('refuses %s', async (_what, path, headers, code) => {
    const { status, json } = await put(path, 'x', headers);
    expect([status, json]).toMatchObject([code, { code, message: expect.any(String) }]);
  });

  it('answers 507 when the disk is full, and takes the unfinished file away', async () => {
    const path = join(agent.smallDisk, 'too-large');
    const { status, json } = await put(path, Buffer.alloc(8 * 1024 * 1024));
    expect([status, json]).toMatchObject([507, { code: 507 }]);
    // The tmpfs exists only in the agent's mount namespace.
    expect((await get(path)).status).toBe(404);
    expect((await put(path, 'fits')).status).toBe(200);
  });

  it('takes an unfinished new file away when the caller goes', async () => {
    const path = join(agent.dir, 'abandoned');
    const outgoing = request({
      socketPath: join(agent.socketDir, 'http.sock'),
      method: 'POST',
      path: query({ path }),
      headers: { 'content-type': 'application/octet-stream', 'content-length': '1000000' },
    });
    outgoing.on('error', () => undefined);
    outgoing.write('the first part');
    while (!existsSync(path)) await delay(5);
    outgoing.destroy();
    while (existsSync(path)) await delay(5);
    expect(readdirSync(agent.dir)).not.toContain('abandoned');
  });
});

describe('POST /files with multipart', () => {
  it('writes each part to its full filename, in their order', async () => {
    const a = join(agent.dir, 'm/a.txt');
    const { status, json } = await multipart(undefined, [
      { filename: a, body: 'A' },
      { filename: 'rel/b.txt', body: 'B' },
      { name: 'other', filename: '/never', body: 'skipped' },
      { name: 'comment', body: 'skipped' },
    ]);
    const b = join(agent.home, 'rel/b.txt');
    expect([status, json]).toEqual([
      200,
      [
        { path: a, name: 'a.txt', type: 'file' },
        { path: b, name: 'b.txt', type: 'file' },
      ],
    ]);
    expect([readFileSync(a, 'utf8'), readFileSync(b, 'utf8')]).toEqual(['A', 'B']);
    expect(existsSync('/never')).toBe(false);
  });

  it('takes the path of the query before the filename, and a plain text part with it', async () => {
    const path = join(agent.dir, 'by-query');
    expect((await multipart(path, [{ filename: 'ignored', body: 'file' }])).json).toMatchObject([{ path }]);
    expect(readFileSync(path, 'utf8')).toBe('file');
    await multipart(path, [{ body: 'plain text' }]);
    expect(readFileSync(path, 'utf8')).toBe('plain text');
  });

  it('takes any multipart type', async () => {
    const path = join(agent.dir, 'mixed');
    const type = { 'content-type': 'multipart/mixed; boundary="B"' };
    expect((await multipart(undefined, [{ filename: path, body: 'mixed' }], type)).status).toBe(200);
    expect(readFileSync(path, 'utf8')).toBe('mixed');
  });

  it('keeps what came before a part that fails', async () => {
    const first = join(agent.dir, 'dup');
    const { status } = await multipart(undefined, [
      { filename: first, body: 'first' },
      { filename: first, body: 'second' },
    ]);
    expect([status, readFileSync(first, 'utf8')]).toEqual([400, 'first']);
  });

  it.each([
    [
      'several parts for one path',
      '/tmp/one',
      [
        { filename: 'a', body: '' },
        { filename: 'b', body: '' },
      ],
    ],
    ['a part without path and filename', undefined, [{ body: 'x' }]],
    ['no part named file', undefined, [{ name: 'other', filename: 'x', body: 'x' }]],
    ['no part at all', undefined, []],
    ['a directory as target', '/etc', [{ filename: 'a', body: 'x' }]],
  ])('refuses %s', async (_what, path, parts) => {
    const { status, json } = await multipart(path, parts);
    expect([status, json]).toMatchObject([400, { code: 400 }]);
  });

  it('refuses a body that ends early or has no boundary', async () => {
    const cut = '--B\r\nContent-Disposition: form-data; name="file"; filename="cut"\r\n\r\nabc';
    const headers = { 'content-type': 'multipart/form-data; boundary=B' };
    expect((await put(undefined, cut, headers)).status).toBe(400);
    expect(existsSync(join(agent.home, 'cut'))).toBe(false);
    expect((await put(undefined, cut, { 'content-type': 'multipart/form-data' })).status).toBe(400);
  });

  it('leaves the connection usable for the next request after refusing a large body', async () => {
    const { status } = await multipart('/etc', [{ filename: 'x', body: 'x'.repeat(3_000_000) }]);
    expect(status).toBe(400);
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });
});

describe('metadata of files', () => {
  it('is stored with the file, told by Stat, and replaced as a whole by each upload', async () => {
    const path = join(agent.dir, 'with-metadata');
    const { json } = await put(path, 'x', { 'X-Metadata-Color': 'red', 'x-metadata-Size': 'L' });
    expect(json).toEqual([
      { path, name: 'with-metadata', type: 'file', metadata: { color: 'red', size: 'L' } },
    ]);
    expect((await agent.files().stat({ path })).entry?.metadata).toEqual({ color: 'red', size: 'L' });
    await put(path, 'x', { 'x-metadata-color': 'blue' });
    expect((await agent.files().stat({ path })).entry?.metadata).toEqual({ color: 'blue' });
    expect((await put(path, 'x')).json).toEqual([{ path, name: 'with-metadata', type: 'file' }]);
    expect((await agent.files().stat({ path })).entry?.metadata).toEqual({});
  });

  it('applies to every file of a multipart request', async () => {
    const parts = ['m1', 'm2'].map((name) => ({ filename: join(agent.dir, name), body: name }));
    const { json } = await multipart(undefined, parts, { 'x-metadata-k': 'v' });
    expect(json).toMatchObject([{ metadata: { k: 'v' } }, { metadata: { k: 'v' } }]);
  });

  it.each([
    ['a value that is not ASCII', { 'x-metadata-a': 'caf\u00e9' }],
    ['an empty key', { 'x-metadata-': 'x' }],
    ['a key that is too long', { [`x-metadata-${'k'.repeat(247)}`]: 'x' }],
    ['more than 4096 bytes', { 'x-metadata-a': 'x'.repeat(4096) }],
  ])('refuses %s', async (_what, headers) => {
    const { status, json } = await put(join(agent.dir, 'refused'), 'x', headers);
    expect([status, json]).toMatchObject([400, { code: 400 }]);
    expect(existsSync(join(agent.dir, 'refused'))).toBe(false);
  });
});

describe('signed URLs', () => {
  const accessToken = 'the-token';
  beforeAll(() => agent.initialize({ accessToken }));

  const signed = (path: string, operation: 'read' | 'write', expiration?: string): string => {
    const signature = createSignature({ path, username: '', operation, accessToken, expiration });
    return query({ path, signature, ...(expiration && { signature_expiration: expiration }) });
  };

  it('let their bearer download and upload without a token', async () => {
    const headers = { 'content-type': 'application/octet-stream' };
    const up = await agent.http({ method: 'POST', path: signed('s.txt', 'write'), headers, body: 'signed' });
    expect(up.status).toBe(200);
    expect((await agent.http({ path: signed('s.txt', 'read') })).body.toString()).toBe('signed');
  });

  it('stop working at their expiry, with a fixed body', async () => {
    const { status, body } = await agent.http({ path: signed('s.txt', 'read', '1000000000') });
    expect([status, body.toString()]).toEqual([401, '{"code":401,"message":"signature is already expired"}']);
  });

  it('open nothing but the files', async () => {
    const { status } = await agent.http({ path: signed('x', 'read').replace('/files', '/metrics') });
    expect(status).toBe(401);
  });
});
