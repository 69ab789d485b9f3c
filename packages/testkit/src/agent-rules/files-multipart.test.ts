import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';

testAgents((agent) => {
  const { call, refusal } = agent.plain;

  interface Part {
    name?: string;
    filename?: string;
    body: string;
  }
  const toForm = (parts: Part[], type = 'multipart/form-data', boundary = 'b') => ({
    headers: { 'content-type': `${type}; boundary=${boundary}` },
    body: `${parts
      .map(({ name = 'file', filename, body }) => {
        const file = filename === undefined ? '' : `; filename="${filename}"`;
        return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${body}\r\n`;
      })
      .join('')}--b--\r\n`,
  });
  const send = async (route: string, parts: Part[], type?: string) => {
    const { status, text } = await call(route, toForm(parts, type));
    expect(status, text).toBe(200);
    return JSON.parse(text) as unknown;
  };
  const record = (path: string) => ({ path, name: path.slice(path.lastIndexOf('/') + 1), type: 'file' });

  describe('a form', () => {
    it('rule 5.5-1, 10-26: counts only the parts that are named "file"', async () => {
      const records = await send('POST /files', [
        { name: 'comment', body: 'skipped'.repeat(10_000) },
        { name: 'other', filename: '/tmp/never', body: 'skipped' },
        { filename: '/tmp/counted', body: 'counted' },
        { name: 'File', filename: '/tmp/never', body: 'skipped' },
        { name: 'file2', filename: '/tmp/never', body: 'skipped' },
      ]);
      expect(records).toEqual([record('/tmp/counted')]);
      expect(await agent.files.exists('/tmp/never')).toBe(false);
      expect(
        await refusal('POST /files', toForm([{ name: 'other', filename: 'x', body: 'x' }])),
      ).toMatchObject({
        status: 400,
      });
    });

    it('rule 5.5-2, 10-26: goes where the path of the query says, else where each file name says, with its directories', async () => {
      expect(await send('POST /files?path=/tmp/asked', [{ filename: 'ignored/a', body: 'asked' }])).toEqual([
        record('/tmp/asked'),
      ]);
      expect(await agent.files.read('/tmp/asked')).toBe('asked');
      const names = ['/tmp/form/sub/ä 1.txt', 'relative/2.txt', '~/3.txt'];
      const records = await send(
        'POST /files',
        names.map((filename) => ({ filename, body: filename })),
      );
      const paths = ['/tmp/form/sub/ä 1.txt', '/home/user/relative/2.txt', '/home/user/3.txt'];
      expect(records).toEqual(paths.map(record));
      for (const [index, path] of paths.entries()) expect(await agent.files.read(path)).toBe(names[index]);
      expect(await agent.files.exists('ignored')).toBe(false);
    });

    it('rule 5.5-2: has one part only when the query names a path', async () => {
      const parts = ['1', '2'].map((body) => ({ filename: body, body }));
      expect(await refusal('POST /files?path=/tmp/single', toForm(parts))).toMatchObject({ status: 400 });
      expect(await agent.files.read('/tmp/single')).toBe('1');
    });

    it('rule 5.5-3: without a path and without a file name is refused', async () => {
      for (const part of [{ body: 'x' }, { filename: '', body: 'x' }])
        expect(await refusal('POST /files', toForm([part]))).toMatchObject({ status: 400 });
    });

    it('rule 5.5-4, 10-26: may be a plain text value when the query names a path', async () => {
      const text = 'ein Text, '.repeat(20_000);
      expect(await send('POST /files?path=notes/text.txt', [{ body: text }])).toEqual([
        record('/home/user/notes/text.txt'),
      ]);
      expect(await agent.files.read('notes/text.txt')).toBe(text);
    });

    it('rule 5.5-5: is answered with a record for each part, in their order', async () => {
      const names = Array.from({ length: 30 }, (_, index) => `/tmp/order/${(index * 7) % 30}`);
      const records = await send(
        'POST /files',
        names.map((filename) => ({ filename, body: filename })),
      );
      expect(records).toEqual(names.map(record));
    });

    it.each([
      ['the same name', '/tmp/twice', '/tmp/twice'],
      ['two spellings of one path', 'twice', '/home/user/./a/../twice'],
    ])(
      'rule 5.5-6, 10-26: with two parts for one target, as %s, is refused, and the first is written',
      async (_title, first, second) => {
        const parts = [
          { filename: first, body: 'first' },
          { filename: second, body: 'second' },
          { filename: '/tmp/third', body: 'third' },
        ];
        expect(await refusal('POST /files', toForm(parts))).toMatchObject({ status: 400 });
        expect(await agent.files.read(first)).toBe('first');
        expect(await agent.files.exists('/tmp/third')).toBe(false);
      },
    );

    it('rule 5.5-7: is written part by part; what came before one that fails stays, what comes after is not written', async () => {
      const parts = ['/tmp/before', '/etc', '/tmp/after'].map((filename) => ({ filename, body: filename }));
      expect(await refusal('POST /files', toForm(parts))).toMatchObject({ status: 400 });
      expect(await agent.files.read('/tmp/before')).toBe('/tmp/before');
      expect(await agent.files.exists('/tmp/after')).toBe(false);
    });

    it('rule 5.5-9: may be of any multipart type', async () => {
      expect(await send('POST /files', [{ filename: '/tmp/mixed', body: 'm' }], 'multipart/mixed')).toEqual([
        record('/tmp/mixed'),
      ]);
      const quoted = toForm([{ filename: '/tmp/quoted', body: 'q' }], 'multipart/mixed', '"b"');
      expect(JSON.parse((await call('POST /files', quoted)).text)).toEqual([record('/tmp/quoted')]);
      const upper = await send('POST /files', [{ filename: '/tmp/upper', body: 'm' }], 'Multipart/Form-Data');
      expect(upper).toEqual([record('/tmp/upper')]);
    });

    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    it.each([
      ['no boundary', { 'content-type': 'multipart/form-data' }, '--b--\r\n'],
      [
        'an end in the middle of a file',
        headers,
        toForm([{ filename: '/tmp/cut', body: 'half' }]).body.slice(0, -9),
      ],
      ['an end in the middle of a head', headers, '--b\r\nContent-Disposition: form-data; na'],
      ['no part', headers, '--b--\r\n'],
      ['nothing at all', headers, ''],
      ['something else', headers, 'nothing of the kind'],
      ['a file name with NUL', headers, toForm([{ filename: '/tmp/a\0b', body: 'x' }]).body],
    ])('rule 5.5-9: with %s is refused and leaves no file', async (_title, given, body) => {
      expect(await refusal('POST /files', { headers: given, body })).toMatchObject({ status: 400 });
      expect(await agent.files.exists('/tmp/cut')).toBe(false);
    });

    it('rule 5.2-3: that is refused early leaves the connection in order', async () => {
      const large = toForm([{ filename: '/etc', body: 'x'.repeat(3_000_000) }]);
      expect(await refusal('POST /files', large)).toMatchObject({ status: 400 });
      expect(await agent.files.read('/etc/hostname')).not.toBe('');
    });
  });
});
