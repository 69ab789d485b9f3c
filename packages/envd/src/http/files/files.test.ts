import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { constants } from 'node:http2';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFileRequests } from '../../testing/file-requests.ts';
import { openHttp2 } from '../../testing/http2-session.ts';
import { openFilesOf } from '../../testing/open-files.ts';
import { startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

const { get, query } = createFileRequests(() => agent);

describe('GET /files', () => {
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
