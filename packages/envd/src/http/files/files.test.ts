import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { constants } from 'node:http2';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../../testing/collect-output.ts';
import { createFileRequests } from '../../testing/file-requests.ts';
import { openHttp2 } from '../../testing/http2-session.ts';
import { openFilesOf } from '../../testing/open-files.ts';
import { startAgent, type TestAgent } from '../../testing/start-agent.ts';
import { createSignature } from '../signature.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

const { get, put, query } = createFileRequests(() => agent);

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

  it('sends a file of /sys, which claims to be longer than it is, as what it is', async () => {
    const path = '/sys/devices/system/cpu/online';
    const text = readFileSync(path, 'utf8');
    expect(statSync(path).size).toBeGreaterThan(text.length);
    const plain = await get(path);
    expect([plain.status, plain.headers['content-length'], plain.body.toString()]).toEqual([
      ...[200, String(text.length)],
      text,
    ]);
    const packed = await get(path, { 'accept-encoding': 'gzip, identity;q=0' });
    expect([packed.status, gunzipSync(packed.body).toString()]).toEqual([200, text]);
    const part = await get(path, { range: 'bytes=1-' });
    expect([part.status, part.headers['content-range'], part.body.toString()]).toEqual([
      ...[206, `bytes 1-${text.length - 1}/${text.length}`],
      text.slice(1),
    ]);
    expect((await get(path, { range: 'bytes=2000-' })).status).toBe(416);
  });

  it('answers every reader of a file that is emptied and written all the time', async () => {
    const path = join(agent.dir, 'counter');
    const script = `for (let n = 0; ; n++) require('node:fs').writeFileSync(process.argv[1], String(n))`;
    const writer = spawn(process.execPath, ['-e', script, path], { stdio: 'ignore' });
    try {
      await expect.poll(() => existsSync(path)).toBe(true);
      for (let round = 0; round < 400; round += 1) {
        const { status, body } = await get(path);
        expect([status, body.toString()]).toEqual([200, expect.stringMatching(/^\d*$/)]);
      }
    } finally {
      writer.kill();
    }
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
    const isOpen = (): boolean => openFilesOf(agent.pid).includes(path);
    const outgoing = request({ socketPath: join(agent.socketDir, 'http.sock'), path: query({ path }) });
    outgoing.once('response', (response) => response.pause());
    outgoing.end();
    await expect.poll(isOpen, { interval: 5 }).toBe(true);
    outgoing.on('error', () => undefined).destroy();
    await expect.poll(isOpen, { interval: 5 }).toBe(false);
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

  it.each(['identity', 'gzip;q=1, identity;q=0.5'])(
    'resets the stream of HTTP/2 with an error when the file shrinks under way, for "%s"',
    async (encoding) => {
      const path = join(agent.dir, 'shrinking-too');
      // Not compressible, so that it is still under way.
      writeFileSync(path, randomBytes(50 * 1024 * 1024));
      using http2 = openHttp2({ path: join(agent.socketDir, 'http.sock') });
      const stream = http2.open({ path: query({ path }), headers: { 'accept-encoding': encoding } });
      stream.end();
      await once(stream, 'response');
      truncateSync(path, 1000);
      stream.resume();
      await expect(once(stream, 'end')).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
      expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    },
  );
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
