import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { filesOf } from './plain-calls.ts';

testAgents((agent) => {
  beforeAll(async () => {
    await agent.files.write('/tmp/ten', '0123456789');
    await agent.files.write('/tmp/text', text);
    await agent.files.write('/tmp/empty', '');
  });

  const text = 'compress me '.repeat(1000);
  const { get, open, refusal } = agent.plain;
  const { run } = agent;

  describe('a download', () => {
    it('rule 5.2-2, 5.4-5: is the bytes, with their number, the name of the file and a type that never changes', async () => {
      const bytes = randomBytes(3_000_001);
      await agent.files.write('/tmp/page.html', new Uint8Array(bytes));
      const answer = await get('/tmp/page.html');
      expect([answer.status, answer.bytes.equals(bytes)]).toEqual([200, true]);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': '3000001',
        'content-disposition': 'inline; filename=page.html',
        vary: 'Accept-Encoding',
      });
      expect(answer.headers).not.toHaveProperty('content-encoding');
    });

    it.each([
      ['plain-1.txt', 'inline; filename=plain-1.txt'],
      ['two words', 'inline; filename="two words"'],
      ['a"b\\c', 'inline; filename="a\\"b\\\\c"'],
      ['größe', "inline; filename*=UTF-8''gr%C3%B6%C3%9Fe"],
      ['line\nbreak', "inline; filename*=UTF-8''line%0Abreak"],
    ])('rule 5.4-5: names the file %j so that any header can hold it', async (name, disposition) => {
      await agent.files.write(`/tmp/names/${name}`, 'x');
      const { status, headers } = await get(`/tmp/names/${name}`);
      expect([status, headers['content-disposition']]).toEqual([200, disposition]);
    });

    it('rule 5.4-5: of an empty file has the length 0, whatever part or encoding is asked for', async () => {
      for (const headers of [{}, { 'accept-encoding': 'gzip' }, { range: 'bytes=0-99' }]) {
        const answer = await get('/tmp/empty', headers);
        expect([answer.status, answer.headers['content-length'], answer.text]).toEqual([200, '0', '']);
      }
    });

    it('rule 5.2-2: of a file that hides its size is whole', async () => {
      expect((await get('/proc/version')).text).toBe(await run('cat /proc/version'));
      expect((await get('/proc/version', { 'accept-encoding': 'gzip' })).text).toMatch(/^Linux/);
      // Longer than one read, which is 64 KiB.
      const { text: maps } = await get('/proc/self/smaps');
      expect([maps.length > 65_536, maps.split('\n').at(-2)]).toEqual([
        true,
        expect.stringMatching(/^VmFlags: /),
      ]);
    });

    it('rule 5.2-2: of a file that the agent may not read answers 500', async () => {
      expect(await refusal('GET /files?path=/proc/self/mem')).toMatchObject({ status: 500 });
    });

    it.each([
      ['what does not exist', '/tmp/missing', 404],
      ['what is below a file', '/tmp/ten/x', 404],
      ['a link that leads nowhere', '/tmp/dangling', 404],
      ['a directory', '/tmp', 400],
      ['a link to a directory', '/tmp/to-directory', 400],
      ['a device', '/dev/zero', 400],
      ['a terminal', '/dev/ptmx', 400],
      ['a FIFO', '/tmp/fifo', 400],
      ['a socket', '/tmp/socket', 400],
    ])('rule 5.4-1: of %s is refused, and waits for nothing', async (_title, path, status) => {
      await run(`cd /tmp; [ -p fifo ] || mkfifo fifo; ln -sfn nowhere dangling; ln -sfn /etc to-directory
      [ -S socket ] || python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`);
      expect(await refusal(`GET ${filesOf(path)}`)).toMatchObject({ status });
    });

    it('rule 5.4-1: follows links, also several and through directories', async () => {
      await run(
        'mkdir -p /home/real && echo -n there > /home/real/file && cd /tmp && ln -sfn /home/real d && ln -sfn d/file 1 && ln -sfn 1 2',
      );
      expect((await get('/tmp/2')).text).toBe('there');
    });
  });

  describe('the encoding of a download', () => {
    it.each([
      'gzip',
      'gzip, deflate',
      'gzip, deflate, br',
      'gzip;q=1.0, identity;q=0.5',
      'identity;q=0, *',
      'GZIP;q=0.1',
    ])('rule 5.4-2, 10-28: is gzip for %j', async (accept) => {
      const { headers, bytes } = await get('/tmp/text', { 'accept-encoding': accept });
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      expect(bytes.length).toBeLessThan(text.length);
      expect(gunzipSync(bytes).toString()).toBe(text);
    });

    it.each([
      '',
      'identity',
      'br',
      'gzip;q=0',
      'gzip;q=0.5, identity',
      '*',
      'gzip;q=0.3, identity;q=0.3',
      '*;q=0, identity',
    ])('rule 5.4-2: is identity for %j', async (accept) => {
      const { headers, text: body } = await get('/tmp/text', { 'accept-encoding': accept });
      expect(headers).not.toHaveProperty('content-encoding');
      expect(headers['content-length']).toBe(String(text.length));
      expect(body).toBe(text);
    });

    it.each([
      ['identity;q=0', {}],
      ['identity;q=0, br', {}],
      ['*;q=0', {}],
      ['gzip;q=0, identity;q=0', {}],
      ['gzip, identity;q=0', { range: 'bytes=0-1' }],
    ])(
      'rule 5.4-3: is refused with 406 for %j, and the message names both that there are',
      async (accept, more) => {
        const headers = { 'accept-encoding': accept, ...more };
        expect(await refusal('GET /files?path=/tmp/text', { headers })).toEqual({
          status: 406,
          message: 'no acceptable encoding; supported encodings are identity and gzip',
        });
      },
    );
  });

  describe('a part of a download', () => {
    it.each([
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-3', '789', 'bytes 7-9/10'],
      ['bytes=5-100', '56789', 'bytes 5-9/10'],
      ['bytes=-100', '0123456789', 'bytes 0-9/10'],
      ['bytes=0-0', '0', 'bytes 0-0/10'],
    ])('rule 5.4-4, 10-28: is 206 for %j and never compressed', async (range, part, contentRange) => {
      const answer = await get('/tmp/ten', { range, 'accept-encoding': 'gzip' });
      expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([
        206,
        part,
        contentRange,
      ]);
      expect(answer.headers['content-length']).toBe(String(part.length));
      expect(answer.headers).not.toHaveProperty('content-encoding');
    });

    it('rule 5.4-4: outside of the file answers 416, and one that cannot be parsed answers the whole file', async () => {
      const { status, headers } = await get('/tmp/ten', { range: 'bytes=10-' });
      expect([status, headers['content-range']]).toEqual([416, 'bytes */10']);
      for (const range of ['lines=1-2', 'bytes=4-2', 'bytes=a-b', 'bytes=-', '1-2', 'bytes=0-1,3-4'])
        expect(await get('/tmp/ten', { range })).toMatchObject({ status: 200, text: '0123456789' });
    });

    it('rule 5.4-4: depends on the state of the file, by its tag and by its date', async () => {
      const { headers } = await get('/tmp/ten');
      const [etag, date] = [String(headers.etag), String(headers['last-modified'])];
      const gzip = { 'accept-encoding': 'gzip' };
      const status = async (conditions: Record<string, string>): Promise<number> =>
        (await get('/tmp/ten', { ...gzip, ...conditions })).status;
      expect(await get('/tmp/ten', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
      expect(await status({ 'if-none-match': `"other", ${etag}` })).toBe(304);
      expect(await status({ 'if-modified-since': date })).toBe(304);
      expect(await status({ 'if-match': '"other"' })).toBe(412);
      expect(await status({ 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' })).toBe(412);
      const other = await get('/tmp/ten', { ...gzip, 'if-none-match': '"other"' });
      expect([other.status, other.text]).toEqual([200, '0123456789']);
      expect(await status({ range: 'bytes=0-1', 'if-range': etag })).toBe(206);
      expect(await status({ range: 'bytes=0-1', 'if-range': date })).toBe(206);
      expect(await status({ range: 'bytes=0-1', 'if-range': '"other"' })).toBe(200);
      await agent.files.write('/tmp/ten', '0123456789');
      expect(await status({ 'if-none-match': etag })).toBe(200);
      expect(await status({ range: 'bytes=0-1', 'if-range': etag })).toBe(200);
    });
  });

  describe('a file that changes while it is read', () => {
    /** Starts a download, changes the file when the first bytes have come, and returns how the download ends. */
    const readWhile = async (script: string, headers: Record<string, string> = {}) => {
      await run('head -c 100000000 /dev/urandom > /tmp/moving');
      const answer = await open(`GET ${filesOf('/tmp/moving')}`, { headers });
      let sizeBytes = 0;
      try {
        for await (const chunk of answer) {
          if (sizeBytes === 0) await run(script);
          sizeBytes += (chunk as Buffer).length;
        }
      } catch {
        return { end: 'broken', sizeBytes };
      }
      return { end: 'clean', sizeBytes };
    };

    it('rule 5.2-2: breaks off when it becomes shorter, compressed or not, and never ends short', async () => {
      expect(await readWhile('truncate -s 1000 /tmp/moving')).toMatchObject({ end: 'broken' });
      const gzip = { 'accept-encoding': 'gzip;q=1, identity;q=0.5' };
      expect(await readWhile('truncate -s 1000 /tmp/moving', gzip)).toMatchObject({ end: 'broken' });
    });

    it('rule 5.2-2: is sent as long as it was when it grows, is deleted or replaced', async () => {
      const whole = { end: 'clean', sizeBytes: 100_000_000 };
      expect(await readWhile('head -c 1000000 /dev/zero >> /tmp/moving')).toEqual(whole);
      expect(await readWhile('rm /tmp/moving')).toEqual(whole);
      expect(await readWhile('echo new > /tmp/new && mv /tmp/new /tmp/moving')).toEqual(whole);
    });
  });
});
