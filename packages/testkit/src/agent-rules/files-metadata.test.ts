import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { filesOf, rawBody } from './plain-calls.ts';

testAgents((agent) => {
  const { call, put, refusal } = agent.plain;
  const { run } = agent;
  const statOf = async (path: string) => (await agent.client.filesystem.stat({ path })).entry;
  const metadataOf = async (path: string) => (await statOf(path))?.metadata;
  /** The extended attributes as the kernel returns them. */
  const attributesOf = async (path: string): Promise<unknown> =>
    JSON.parse(
      await run(
        `python3 -c 'import os, json; print(json.dumps({n: os.getxattr("${path}", n).decode() for n in os.listxattr("${path}")}))'`,
      ),
    );

  describe('metadata of an upload', () => {
    it('rule 5.5-15: is kept under its key in lower case, as an extended attribute', async () => {
      const { text } = await put('/tmp/kept', 'x', {
        'X-Metadata-Color': 'red',
        'x-metadata-Size-2': 'a, "b" = ~',
      });
      const metadata = { color: 'red', 'size-2': 'a, "b" = ~' };
      expect(JSON.parse(text)).toEqual([{ path: '/tmp/kept', name: 'kept', type: 'file', metadata }]);
      expect(await metadataOf('/tmp/kept')).toEqual(metadata);
      expect(await attributesOf('/tmp/kept')).toEqual({
        'user.e2b.color': 'red',
        'user.e2b.size-2': 'a, "b" = ~',
      });
    });

    it('rule 5.5-15: holds for every file of a form', async () => {
      const parts = ['/tmp/m1', '/tmp/m2'].map(
        (name) => `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\nx\r\n`,
      );
      const headers = { 'content-type': 'multipart/form-data; boundary=b', 'X-Metadata-From': 'a form' };
      const { text } = await call('POST /files', { headers, body: `${parts.join('')}--b--\r\n` });
      const metadata = { from: 'a form' };
      expect(JSON.parse(text)).toMatchObject([{ metadata }, { metadata }]);
      expect([await metadataOf('/tmp/m1'), await metadataOf('/tmp/m2')]).toEqual([metadata, metadata]);
    });

    it.each([
      ['a value that is not ASCII', { 'x-metadata-a': 'caf\u00e9' }],
      ['a value with a tab', { 'x-metadata-a': 'a\tb' }],
      ['an empty key', { 'x-metadata-': 'x' }],
      ['a key of 247 bytes', { [`x-metadata-${'k'.repeat(247)}`]: 'x' }],
      ['4097 bytes in all', { 'x-metadata-a': 'x'.repeat(4096) }],
      ['4097 bytes in several', { 'x-metadata-a': 'x'.repeat(3000), 'x-metadata-b': 'x'.repeat(1095) }],
    ])('rule 5.5-16: with %s is refused, and nothing is written', async (_title, headers) => {
      const given = { headers: { ...rawBody, ...headers }, body: 'x' };
      expect(await refusal(`POST ${filesOf('/tmp/refused')}`, given)).toMatchObject({ status: 400 });
      await expect(statOf('/tmp/refused')).rejects.toMatchObject({ code: Code.NotFound });
    });

    it.each([
      ['4096 bytes in one value', { a: 'x'.repeat(4095) }],
      ['a key of 246 bytes', { ['k'.repeat(246)]: 'x' }],
      [
        '4096 bytes in several',
        Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key-${i + 10}`, 'v'.repeat(250)])),
      ],
    ])('rule 5.5-16: may have %s', async (_title, metadata: Record<string, string>) => {
      const headers = Object.fromEntries(
        Object.entries(metadata).map(([key, value]) => [`X-Metadata-${key}`, value]),
      );
      const { status, text } = await put('/tmp/most', 'x', headers);
      expect(status, text).toBe(200);
      expect(await metadataOf('/tmp/most')).toEqual(metadata);
    });

    it('rule 5.5-17, 10-27: is replaced as a whole by each upload, and cleared by one without', async () => {
      await put('/tmp/replaced', 'x', { 'X-Metadata-A': '1', 'X-Metadata-B': '2' });
      await run(`python3 -c 'import os; os.setxattr("/tmp/replaced", "user.other", b"kept")'`);
      await put('/tmp/replaced', 'x', { 'X-Metadata-B': '3', 'X-Metadata-C': '4' });
      expect(await metadataOf('/tmp/replaced')).toEqual({ b: '3', c: '4' });
      await put('/tmp/replaced', 'x');
      expect(await metadataOf('/tmp/replaced')).toEqual({});
      // What is not metadata stays.
      expect(await attributesOf('/tmp/replaced')).toEqual({ 'user.other': 'kept' });
    });

    it('rule 5.5-18, 10-27: stands in the record only when there is some', async () => {
      await put('/tmp/record', 'x', { 'X-Metadata-A': '1' });
      expect((await put('/tmp/record', 'x')).text).toBe(
        '[{"path":"/tmp/record","name":"record","type":"file"}]',
      );
      // An empty value is one.
      expect(JSON.parse((await put('/tmp/record', 'x', { 'X-Metadata-A': '' })).text)).toEqual([
        { path: '/tmp/record', name: 'record', type: 'file', metadata: { a: '' } },
      ]);
    });

    it('rule 5.5-19: is left out where the file system has no extended attributes, and the upload succeeds', async () => {
      const abort = new AbortController();
      const program = { cmd: '/bin/sleep', args: ['60'] };
      const sleeper = agent.client.process
        .start({ process: program, stdin: false }, { signal: abort.signal })
        [Symbol.asyncIterator]();
      const { event } = (await sleeper.next()).value?.event ?? {};
      const pid = event?.case === 'start' ? event.value.pid : 0;
      const path = `/proc/${pid}/oom_score_adj`;
      const { status, text } = await put(path, '507', { 'X-Metadata-A': 'b' });
      expect([status, text]).toEqual([200, `[{"path":"${path}","name":"oom_score_adj","type":"file"}]`]);
      expect(await run(`cat ${path}`)).toBe('507\n');
      await run(`kill ${pid}`);
      abort.abort();
    });
  });
});
