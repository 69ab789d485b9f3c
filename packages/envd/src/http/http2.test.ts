import { createCipheriv, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Code } from '@connectrpc/connect';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { answerOf, type Http2Session, openHttp2 } from '../testing/http2-session.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
let http2: Http2Session;
beforeAll(async () => {
  agent = await startAgent();
});
beforeEach(() => {
  http2 = openHttp2({ path: join(agent.socketDir, 'http.sock') });
});
afterEach(() => http2[Symbol.dispose]());
afterAll(() => agent.stop());

const countDescriptors = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;
const raw = { 'content-type': 'application/octet-stream' };

describe('HTTP/2 on the socket and on the port', () => {
  it.each([
    ['GET', '/init', 404],
    ['POST', '/init', 404],
    ['DELETE', '/files', 405],
    ['GET', '/nothing', 404],
    ['GET', '/files?path=/nothing', 404],
    ['GET', '/files?path=/', 400],
    ['POST', '/process.Process/Explode', 404],
  ])('answers %s %s with %i and the same body as over HTTP/1.1', async (method, path, status) => {
    const answers = [await http2.send({ method, path }), await agent.http({ method, path })];
    for (const answer of answers)
      expect([answer.status, answer.json]).toMatchObject([status, { code: status }]);
    expect(answers[0]?.json).toEqual(answers[1]?.json);
  });

  it('answers a preflight before it checks the token', async () => {
    const headers = { origin: 'https://example.com', 'access-control-request-method': 'POST' };
    const { status, headers: answer } = await http2.send({ method: 'OPTIONS', path: '/files', headers });
    expect([status, answer['access-control-allow-origin'], answer['access-control-max-age']]).toEqual([
      204,
      '*',
      '7200',
    ]);
  });

  it.each([false, true])('carries calls and streams, errors and all (protobuf: %s)', async (binary) => {
    const processes = agent.processes({ http2: true, binary });
    const script = { process: { cmd: '/bin/sh', args: ['-c', 'echo out; echo err >&2; exit 3'] } };
    expect(await collectOutput(processes.start(script))).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      end: { exitCode: 3 },
    });
    const files = agent.files({ http2: true, binary });
    expect((await files.stat({ path: agent.dir })).entry?.path).toBe(agent.dir);
    await expect(files.stat({ path: '/no/such' })).rejects.toMatchObject({ code: Code.NotFound });
    const missing = processes.connect({ process: { selector: { case: 'pid', value: 999_999 } } });
    await expect(collectOutput(missing)).rejects.toMatchObject({ code: Code.NotFound });
  });

  it('survives an authority that is no host name', async () => {
    const stream = http2.session.request({
      ':method': 'POST',
      ':path': '/process.Process/List',
      ':authority': '[:::',
      'content-type': 'application/json',
      'connect-protocol-version': '1',
    });
    stream.end('{}');
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(200);
  });

  it('opens no tunnel', async () => {
    const stream = http2.session.request({ ':method': 'CONNECT', ':authority': 'localhost:22' });
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(405);
  });
});

describe('files over HTTP/2', () => {
  it('go up and come down byte for byte, whole, in part and compressed', async () => {
    const bytes = randomBytes(5 << 20);
    const path = `/files?path=${agent.dir}/big`;
    const upload = await http2.send({ method: 'POST', path, headers: raw, body: bytes });
    expect([upload.status, upload.json]).toEqual([
      200,
      [{ path: `${agent.dir}/big`, name: 'big', type: 'file' }],
    ]);
    expect(readFileSync(`${agent.dir}/big`).equals(bytes)).toBe(true);
    expect((await http2.send({ path })).body.equals(bytes)).toBe(true);
    const part = await http2.send({ path, headers: { range: 'bytes=1000-1999' } });
    expect([part.status, part.body.equals(bytes.subarray(1000, 2000))]).toEqual([206, true]);
    const packed = await http2.send({ path, headers: { 'accept-encoding': 'gzip, identity;q=0' } });
    expect(gunzipSync(packed.body).equals(bytes)).toBe(true);
    expect((await http2.send({ path: '/files?path=/proc/version' })).body.toString()).toMatch(/^Linux/);
  });

  it('whose upload is reset in the middle are not taken for whole: nothing is left', async () => {
    const stream = http2.open({ method: 'POST', path: `/files?path=${agent.dir}/half`, headers: raw });
    stream.on('error', () => undefined);
    stream.write(randomBytes(30_000));
    await expect.poll(() => readdirSync(agent.dir)).toContain('half');
    stream.destroy();
    await expect.poll(() => readdirSync(agent.dir)).not.toContain('half');
    expect(agent.log()).not.toContain('request failed');
  });

  it('that turn out shorter than promised do not look complete', async () => {
    const path = `${agent.dir}/shrinking`;
    writeFileSync(path, randomBytes(64 << 20));
    const stream = http2.open({ path: `/files?path=${path}` });
    stream.end();
    await once(stream, 'response');
    writeFileSync(path, '');
    stream.resume();
    await expect(once(stream, 'end')).rejects.toThrow(/INTERNAL_ERROR/);
    expect(statSync(path).size).toBe(0);
  });

  it('leave no descriptor behind when their readers reset the stream', async () => {
    writeFileSync(`${agent.dir}/long`, randomBytes(8 << 20));
    const before = countDescriptors();
    for (const headers of [{}, { 'accept-encoding': 'gzip, identity;q=0' }]) {
      for (let round = 0; round < 5; round += 1) {
        const stream = http2.open({ path: `/files?path=${agent.dir}/long`, headers });
        stream.end();
        await once(stream, 'response');
        stream.close(constants.NGHTTP2_CANCEL);
      }
    }
    await expect.poll(countDescriptors).toBeLessThanOrEqual(before);
    expect(agent.log()).not.toMatch(/uncaught|unhandled/);
  });
});

describe('a request that is answered before its end', () => {
  const json = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
  it.each([
    ['/filesystem.Filesystem/Stat', json, 429],
    ['/filesystem.Filesystem/Nothing', json, 404],
    ['/process.Process/Start', { ...json, 'content-type': 'application/connect+json' }, 200],
    ['/files', raw, 400],
    ['/metrics', {}, 405],
  ])('keeps its answer and does not hold up the connection: POST %s', async (path, headers, status) => {
    const stream = http2.open({ method: 'POST', path, headers });
    stream.on('error', () => undefined);
    const answer = answerOf(stream);
    const closed = once(stream, 'close');
    const piece = Buffer.alloc(1 << 20, 0xff);
    for (let sent = 0; sent < 70 && !stream.destroyed; sent += 1) {
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), closed]);
    }
    stream.end();
    expect((await answer).status).toBe(status);
    await closed;
    expect((await http2.send({ path: '/health' })).status).toBe(204);
    expect(agent.log()).not.toMatch(/uncaught|unhandled/);
  });
});

describe('a reset stream', () => {
  it('ends a watch, and ends listening to a process without ending the process', async () => {
    const abort = new AbortController();
    const options = { signal: abort.signal };
    const watch = agent.files({ http2: true }).watchDir({ path: agent.dir }, options)[Symbol.asyncIterator]();
    await watch.next();
    const sleep = { process: { cmd: 'sleep', args: ['1000.5'] } };
    const process = agent.processes({ http2: true }).start(sleep, options)[Symbol.asyncIterator]();
    const { value } = await process.next();
    const pid = value?.event?.event.case === 'start' ? value.event.event.value.pid : 0;
    abort.abort();
    await expect(watch.next()).rejects.toMatchObject({ code: Code.Canceled });
    const running = async () => (await agent.processes().list({})).processes.map((each) => each.pid);
    expect(await running()).toContain(pid);
    await agent.processes().sendSignal({ process: { selector: { case: 'pid', value: pid } }, signal: 9 });
    await expect.poll(running).not.toContain(pid);
  });

  it('of an input stream is not taken for its end', async () => {
    const headers = { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' };
    const stream = http2.open({ method: 'POST', path: '/process.Process/StreamInput', headers });
    stream.on('error', () => undefined);
    stream.write(Buffer.from([0, 0, 0, 0, 50]));
    stream.close(constants.NGHTTP2_CANCEL);
    expect((await http2.send({ path: '/health' })).status).toBe(204);
    expect(agent.log()).not.toMatch(/uncaught|unhandled/);
  });
});

describe('limits of a connection', () => {
  /** A frame of HTTP/2 (RFC 9113, 4.1). */
  const frame = (type: number, flags: number, streamId: number, payload: Buffer): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(streamId, 5);
    return Buffer.concat([head, payload]);
  };
  /** Headers of an input stream that stays open. Names and values as they are (RFC 7541, 6.2.2). */
  const inputStream = (): Buffer => {
    const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
    const headers = {
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': 'sandbox',
      ':path': '/process.Process/StreamInput',
      'content-type': 'application/connect+json',
      'connect-protocol-version': '1',
    };
    const fields = Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0]),
      text(name),
      text(value),
    ]);
    return Buffer.concat(fields);
  };

  it('are announced', async () => {
    const { session } = http2;
    // The settings may have arrived before a listener was added.
    await expect
      .poll(() => session.remoteSettings)
      .toMatchObject({ maxConcurrentStreams: 1000, maxHeaderListSize: 16 * 1024 });
  });

  it('refuse each stream above them, of a client that does not care, and no other', async () => {
    const socket = connect(join(agent.socketDir, 'http.sock'));
    const frames = [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))];
    for (let index = 0; index < 1080; index += 1) frames.push(frame(1, 4, 2 * index + 1, inputStream()));
    socket.write(Buffer.concat([...frames, frame(6, 0, 0, Buffer.alloc(8))]));
    const refused: number[] = [];
    let rest = Buffer.alloc(0);
    let isDone = false;
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        const [type, end] = [rest.readUInt8(3), 9 + rest.readUIntBE(0, 3)];
        if (type === 3) refused.push((rest.readUInt32BE(5) - 1) / 2);
        if (type === 6) isDone = true;
        rest = rest.subarray(end);
      }
    });
    await expect.poll(() => [isDone, refused.length]).toEqual([true, 80]);
    expect(refused).toEqual(Array.from({ length: 80 }, (_, index) => 1000 + index));
    expect((await http2.send({ path: '/health' })).status).toBe(204);
    socket.destroy();
  });

  it('refuse headers that are too long, on that stream alone', async () => {
    await http2.send({ path: '/health' });
    const long = http2.open({ path: '/health', headers: { 'x-long': 'x'.repeat(20_000) } });
    long.end();
    await expect(once(long, 'response')).rejects.toThrow(/ENHANCE_YOUR_CALM/);
    expect((await http2.send({ path: '/health' })).status).toBe(204);
  });
});

describe('bytes that are no HTTP/2', () => {
  it('behind a proper preface end that connection alone', async () => {
    // Every run sends equal bytes.
    const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16));
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    const attack = async (index: number): Promise<void> => {
      const bytes = noise.update(Buffer.alloc(9 + (index % 400)));
      // Half of them begin with the length, the type and the flags of a frame that exists.
      if (index % 2 === 0) bytes.writeUIntBE(bytes.length - 9, 0, 3);
      if (index % 2 === 0) bytes.writeUInt8(index % 10, 3);
      const socket = connect(join(agent.socketDir, 'http.sock')).on('error', () => undefined);
      socket.end(Buffer.concat([preface, bytes]));
      socket.resume();
      await once(socket, 'close');
    };
    await Promise.all(Array.from({ length: 300 }, (_, index) => attack(index)));
    expect((await http2.send({ path: '/health' })).status).toBe(204);
    expect(agent.log()).not.toMatch(/uncaught|unhandled/);
  });
});
