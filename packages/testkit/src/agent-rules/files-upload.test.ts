import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { filesOf, rawBody } from './plain-calls.ts';

testAgents((agent) => {
  const { call, put, refusal } = agent.plain;
  const { run } = agent;
  const upload = { headers: rawBody, body: 'x' };

  describe('an upload of a raw body', () => {
    it('rule 5.2-3, 5.5-8, 11-8: writes the file and answers its record as JSON', async () => {
      const { status, headers, text } = await put('notes/today.txt', 'häuser');
      expect([status, headers['content-type'], text]).toEqual([
        200,
        'application/json',
        '[{"path":"/home/user/notes/today.txt","name":"today.txt","type":"file"}]',
      ]);
      expect(await agent.files.read('notes/today.txt')).toBe('häuser');
      expect((await put('/tmp/empty', '')).status).toBe(200);
      expect(await run('stat -c %s /tmp/empty')).toBe('0\n');
    });

    it('rule 5.5-8: needs a path', async () => {
      for (const route of ['POST /files', 'POST /files?path=', 'POST /files?username=user'])
        expect(await refusal(route, upload)).toMatchObject({
          status: 400,
          message: expect.stringContaining('path'),
        });
    });

    it.each([
      ['none', {}],
      ['an empty one', { 'content-type': '' }],
      ['text', { 'content-type': 'text/plain' }],
      ['JSON', { 'content-type': 'application/json' }],
      ['one that only begins alike', { 'content-type': 'application/octet-streams' }],
    ])('rule 5.5-9: with another content type is refused: %s', async (_title, headers) => {
      const { status, message } = await refusal(`POST ${filesOf('/tmp/refused')}`, {
        headers: headers as Record<string, string>,
        body: 'x',
      });
      expect([status, message]).toEqual([
        400,
        'Content-Type must be multipart/form-data or application/octet-stream',
      ]);
      expect(await agent.files.exists('/tmp/refused')).toBe(false);
    });

    it('rule 5.5-10: may be compressed with gzip, whole or in members, also as a form', async () => {
      const packed = Buffer.concat([gzipSync('packed '), gzipSync('twice')]);
      expect((await put('/tmp/packed', packed, { 'content-encoding': 'gzip' })).status).toBe(200);
      expect(await agent.files.read('/tmp/packed')).toBe('packed twice');
      expect((await put('/tmp/plain', 'plain', { 'content-encoding': 'identity' })).status).toBe(200);
      const form =
        '--b\r\nContent-Disposition: form-data; name="file"; filename="/tmp/form"\r\n\r\nform\r\n--b--\r\n';
      const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-encoding': 'gzip' };
      expect((await call('POST /files', { headers, body: gzipSync(form) })).status).toBe(200);
      expect(await agent.files.read('/tmp/form')).toBe('form');
    });

    it.each([
      ['that is no gzip', 'gzip', Buffer.from('plain')],
      ['that ends early', 'gzip', gzipSync(randomBytes(100_000)).subarray(0, 50_000)],
      ['of another encoding', 'br', Buffer.from('x')],
      ['of two encodings', 'gzip, gzip', gzipSync(gzipSync('x'))],
    ])('rule 5.5-10: %s is refused and leaves no new file', async (_title, encoding, body) => {
      const headers = { ...rawBody, 'content-encoding': encoding };
      expect(await refusal(`POST ${filesOf('/tmp/refused')}`, { headers, body })).toMatchObject({
        status: 400,
        ...(encoding === 'gzip' && { message: 'the body is not valid gzip' }),
      });
      expect(await agent.files.exists('/tmp/refused')).toBe(false);
    });

    it('rule 5.5-11: is written as it comes, in chunks of any size', async () => {
      const hash = createHash('sha256');
      async function* body(): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < 400; index += 1) {
          const chunk = randomBytes(index % 7 === 0 ? 1 : index * 97);
          hash.update(chunk);
          yield chunk;
          // What has been sent by now is in the file before the rest exists.
          if (index === 300) await expect.poll(() => run('stat -c %s /tmp/chunks')).not.toBe('0\n');
          else if (index % 50 === 0) await delay(5);
        }
      }
      expect((await put('/tmp/chunks', body())).status).toBe(200);
      expect(await run('sha256sum < /tmp/chunks')).toBe(`${hash.digest('hex')}  -\n`);
    });

    it('rule 5.5-12: overwrites in place and keeps owner, mode and other names of the file', async () => {
      await run(`echo 'much longer than what follows' > /tmp/old && chown root:user /tmp/old
      ln -f /tmp/old /tmp/other-name && ln -sfn old /tmp/link`);
      for (const mode of ['600', '4755', '2751', '444']) {
        await run(`chmod ${mode} /tmp/old`);
        const before = await run('stat -c "%i %a %U %G" /tmp/old');
        expect((await put('/tmp/link', mode)).status).toBe(200);
        expect(await run('stat -c "%i %a %U %G" /tmp/old')).toBe(before);
        expect(await run('cat /tmp/other-name')).toBe(mode);
      }
      expect(await run('readlink /tmp/link')).toBe('old\n');
    });

    it('rule 5.5-12: makes a new file with mode 0644 for the user and its group, also through a link', async () => {
      await run('ln -sfn /tmp/through /tmp/dangling');
      await put('/tmp/new', 'x');
      await put('/tmp/dangling', 'x');
      await call('POST /files?path=/tmp/of-root&username=root', upload);
      expect(await run('stat -c "%a %U %G" /tmp/new /tmp/through /tmp/of-root')).toBe(
        '644 user user\n644 user user\n644 root root\n',
      );
    });

    it.each([
      ['a directory', '/tmp'],
      ['a link to a directory', '/tmp/to-directory'],
      ['a device', '/dev/null'],
      ['a FIFO', '/tmp/fifo'],
      ['a socket', '/tmp/socket'],
    ])('rule 5.5-13: to %s is refused, and waits for nothing', async (_title, path) => {
      await run(`cd /tmp; [ -p fifo ] || mkfifo fifo; ln -sfn /etc to-directory
      [ -S socket ] || python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`);
      expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 400 });
    });

    it('rule 5.2-3: through a link into a directory that is missing is answered 500', async () => {
      await run('ln -sfn /tmp/no-such/file /tmp/lost');
      expect(await refusal(`POST ${filesOf('/tmp/lost')}`, upload)).toMatchObject({ status: 500 });
    });

    it('rule 5.5-7: that is aborted leaves no new file', async () => {
      async function* body(): AsyncGenerator<Uint8Array> {
        yield randomBytes(3_000_000);
        await expect.poll(() => agent.files.exists('/tmp/broken')).toBe(true);
        throw new Error('aborted by the test');
      }
      await expect(put('/tmp/broken', body())).rejects.toThrow('aborted by the test');
      await expect.poll(() => agent.files.exists('/tmp/broken')).toBe(false);
    });
  });
});
