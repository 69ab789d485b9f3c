import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFileRequests } from '../../testing/file-requests.ts';
import { startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

const { get, multipart, put, query } = createFileRequests(() => agent);

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
    await expect.poll(() => existsSync(path), { interval: 5 }).toBe(true);
    outgoing.destroy();
    await expect.poll(() => existsSync(path), { interval: 5 }).toBe(false);
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
      'one',
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
