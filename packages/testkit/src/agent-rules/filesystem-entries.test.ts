import { fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { FileType, ListDirResponseSchema, StatResponseSchema } from '@skerry/envd-client/filesystem';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { createRpcCalls } from './rpc-calls.ts';

testAgents((agent) => {
  const { unary } = createRpcCalls(agent.plain);
  const statOf = 'filesystem.Filesystem/Stat';
  const stat = async (path: string, headers?: Record<string, string>): Promise<unknown> =>
    ((await unary(statOf, { path }, headers)).json as { entry: unknown }).entry;
  const { run } = agent;

  describe('an entry', () => {
    it('rule 6.5-12: has nine bits of mode, permissions as text, and names of owners or their digits', async () => {
      await run(
        `mkdir -p /tmp/modes && cd /tmp/modes && touch plain odd && mkdir sticky && mkfifo pipe && chown user:user plain &&
       chmod 640 plain && chown 4321:8765 odd && chmod 4755 odd && chmod 1777 sticky && chmod 600 pipe`,
      );
      expect(await stat('/tmp/modes/plain')).toMatchObject({
        type: 'FILE_TYPE_FILE',
        mode: 0o640,
        permissions: '-rw-r-----',
        owner: 'user',
        group: 'user',
      });
      expect(await stat('/tmp/modes/odd')).toMatchObject({ mode: 0o755, owner: '4321', group: '8765' });
      expect(await stat('/tmp/modes/sticky')).toMatchObject({
        type: 'FILE_TYPE_DIRECTORY',
        mode: 0o777,
        permissions: 'dtrwxrwxrwx',
      });
      expect(await stat('/dev/null')).toMatchObject({ permissions: 'Dcrw-rw-rw-' });
      const pipe = await stat('/tmp/modes/pipe');
      expect(pipe).toMatchObject({ mode: 0o600, permissions: 'prw-------' });
      // Neither a file nor a directory: the default of the field, which JSON leaves out.
      expect(pipe).not.toHaveProperty('type');
    });

    it('rule 6.5-13: of a link has type and mode of the target, size and permissions of the link, and the resolved target', async () => {
      await run(
        `mkdir -p /tmp/links/real && cd /tmp/links && chmod 750 real && ln -sfn real one && ln -sfn ./one two &&
       ln -sfn gone broken && ln -sfn loop loop`,
      );
      expect(await stat('/tmp/links/two')).toMatchObject({
        name: 'two',
        path: '/tmp/links/two',
        type: 'FILE_TYPE_DIRECTORY',
        mode: 0o750,
        size: './one'.length,
        permissions: 'Lrwxrwxrwx',
        symlinkTarget: '/tmp/links/real',
      });
      for (const name of ['broken', 'loop']) {
        const entry = await stat(`/tmp/links/${name}`);
        expect(entry).toMatchObject({ symlinkTarget: `/tmp/links/${name}`, permissions: 'Lrwxrwxrwx' });
        expect(entry).not.toHaveProperty('type');
      }
    });

    it('rule 10-37: has its size as a JSON number, which every decoder of the field takes', async () => {
      await run('mkdir -p /tmp/sizes && cd /tmp/sizes && truncate -s 5000000000 large && printf x > small');
      expect(await stat('/tmp/sizes/large')).toMatchObject({ size: 5_000_000_000 });
      const { json } = await unary('filesystem.Filesystem/ListDir', { path: '/tmp/sizes' });
      expect(json).toMatchObject({ entries: [{ size: 5_000_000_000 }, { size: 1 }] });
      const { entries } = fromJson(ListDirResponseSchema, json as JsonValue);
      expect(entries.map(({ size }) => size)).toEqual([5_000_000_000n, 1n]);
      const asText = fromJson(StatResponseSchema, { entry: { size: '5000000000' } });
      expect(asText.entry?.size).toBe(5_000_000_000n);
    });

    it('rule 10-36: says the same in both codecs, and is reduced to three fields for the old Python client', async () => {
      await run('mkdir -p /tmp/codecs && printf abc > /tmp/codecs/file');
      const headers = { 'content-type': 'application/proto' };
      const path = '/tmp/codecs/file';
      const request = Buffer.concat([Buffer.from([0x0a, path.length]), Buffer.from(path)]);
      const { bytes } = await unary(statOf, request, headers);
      const json = (await unary(statOf, { path })).json as JsonValue;
      expect(fromBinary(StatResponseSchema, bytes)).toEqual(fromJson(StatResponseSchema, json));
      const old = { 'user-agent': 'connect-python' };
      expect(await stat(path, old)).toEqual({ name: 'file', type: 'FILE_TYPE_FILE', path });
      const strict = await unary(statOf, request, { ...headers, ...old });
      expect(fromBinary(StatResponseSchema, strict.bytes).entry).toMatchObject({
        name: 'file',
        type: FileType.FILE,
        path,
        size: 0n,
        owner: '',
      });
      expect(await stat(path, { 'user-agent': 'connect-python/0.4' })).toMatchObject({
        size: 3,
        owner: 'root',
      });
    });
  });
});
