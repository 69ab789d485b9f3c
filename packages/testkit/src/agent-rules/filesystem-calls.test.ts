import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { createRpcCalls } from './rpc-calls.ts';

testAgents((agent) => {
  const { unary } = createRpcCalls(agent.plain);
  const call = async (method: string, request: object) => {
    const { status, json } = await unary(`filesystem.Filesystem/${method}`, request);
    return [status, json];
  };
  const { run } = agent;
  const refused = (status: number, code: string, message: RegExp) => [
    status,
    { code, message: expect.stringMatching(message) },
  ];
  const list = async (path: string, depth?: number): Promise<string[]> => {
    const [status, json] = await call('ListDir', depth === undefined ? { path } : { path, depth });
    expect(status).toBe(200);
    return ((json as { entries?: { path: string }[] }).entries ?? []).map((entry) => entry.path);
  };

  describe('Stat', () => {
    it('rule 6.4-1, 6.5-1: answers the entry of the link itself, and not_found where nothing is', async () => {
      await run('mkdir -p /tmp/stat && cd /tmp/stat && printf hello > file && ln -s file link');
      expect(await call('Stat', { path: '/tmp/stat/file' })).toEqual([
        200,
        {
          entry: {
            name: 'file',
            type: 'FILE_TYPE_FILE',
            path: '/tmp/stat/file',
            size: 5,
            mode: 0o644,
            permissions: '-rw-r--r--',
            owner: 'root',
            group: 'root',
            modifiedTime: expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:.]+Z$/),
          },
        },
      ]);
      expect(await call('Stat', { path: '/tmp/stat/link' })).toMatchObject([
        200,
        { entry: { name: 'link', path: '/tmp/stat/link', size: 4 } },
      ]);
      for (const path of ['/tmp/stat/missing', '/tmp/stat/file/below'])
        expect(await call('Stat', { path })).toEqual(
          refused(404, 'not_found', /stat\/(missing|file\/below)"/),
        );
    });
  });

  describe('ListDir', () => {
    it('rule 6.4-4, 6.5-2: reads depth 0 as 1, sorts by name, each directory before what it holds, without the root', async () => {
      await run(
        'mkdir -p /tmp/list/b/inner /tmp/list/B && cd /tmp/list && touch a c b/x b/inner/y B/z "b 1" .hidden',
      );
      const below = (...names: string[]) => names.map((name) => `/tmp/list/${name}`);
      const first = below('.hidden', 'B', 'a', 'b', 'b 1', 'c');
      expect(await list('/tmp/list')).toEqual(first);
      expect(await list('/tmp/list', 0)).toEqual(first);
      expect(await list('/tmp/list', 1)).toEqual(first);
      expect(await list('/tmp/list', 2)).toEqual(
        below('.hidden', 'B', 'B/z', 'a', 'b', 'b/inner', 'b/x', 'b 1', 'c'),
      );
      expect(await list('/tmp/list', 4_294_967_295)).toEqual(
        below('.hidden', 'B', 'B/z', 'a', 'b', 'b/inner', 'b/inner/y', 'b/x', 'b 1', 'c'),
      );
      await run('mkdir /tmp/list/B/empty');
      expect(await call('ListDir', { path: '/tmp/list/B/empty' })).toEqual([200, {}]);
    });

    it('rule 6.5-3: follows a link as its root, keeps the path that was asked for and enters no link below', async () => {
      await run(
        'mkdir -p /tmp/links/real/deep && cd /tmp/links && touch real/deep/file && ln -s real root && ln -s deep real/inside',
      );
      expect(await list('/tmp/links/root', 9)).toEqual([
        '/tmp/links/root/deep',
        '/tmp/links/root/deep/file',
        '/tmp/links/root/inside',
      ]);
      const [, json] = await call('ListDir', { path: '/tmp/links/root' });
      expect(json).toMatchObject({ entries: [{}, { symlinkTarget: '/tmp/links/real/deep' }] });
    });

    it('rule 6.5-4: answers not_found, invalid_argument and failed_precondition for what it cannot list', async () => {
      await run(
        'mkdir -p /tmp/cannot && cd /tmp/cannot && touch file && ln -sfn loop loop && ln -sfn gone broken',
      );
      const listing = (name: string) => call('ListDir', { path: `/tmp/cannot/${name}` });
      expect(await listing('missing')).toEqual(refused(404, 'not_found', /missing/));
      expect(await listing('broken')).toEqual(refused(404, 'not_found', /broken/));
      expect(await listing('file')).toEqual(refused(400, 'invalid_argument', /file" is not a directory/));
      expect(await listing('loop')).toEqual(refused(400, 'failed_precondition', /loop/));
    });

    it('rule 6.4-4: lists 20,000 entries whole and in order while other calls are answered', async () => {
      await run('mkdir /tmp/crowd && cd /tmp/crowd && seq -f "file-%05g" 1 20000 | xargs touch');
      const listing = list('/tmp/crowd');
      expect((await call('Stat', { path: '/tmp/crowd' }))[0]).toBe(200);
      const names = await listing;
      expect(names).toHaveLength(20_000);
      expect(names).toEqual(names.toSorted());
      expect([names[0], names.at(-1)]).toEqual(['/tmp/crowd/file-00001', '/tmp/crowd/file-20000']);
    });
  });

  describe('MakeDir', () => {
    it('rule 6.4-2, 6.5-5, 10-25: makes parents, 0755, for the user, and refuses what is there', async () => {
      const path = '/tmp/made/by/user';
      expect(await call('MakeDir', { path })).toMatchObject([
        200,
        {
          entry: {
            name: 'user',
            path,
            type: 'FILE_TYPE_DIRECTORY',
            permissions: 'drwxr-xr-x',
            owner: 'user',
          },
        },
      ]);
      expect(await run('stat -c "%a %U %G" /tmp/made /tmp/made/by /tmp/made/by/user')).toBe(
        '755 user user\n'.repeat(3),
      );
      expect(await call('MakeDir', { path })).toEqual(
        refused(409, 'already_exists', /by\/user" already exists/),
      );
      await run('touch /tmp/made/file');
      expect(await call('MakeDir', { path: '/tmp/made/file' })).toEqual(
        refused(400, 'invalid_argument', /made\/file" is a file/),
      );
      expect(await call('MakeDir', { path: '/tmp/made/file/below' })).toEqual(
        refused(500, 'internal', /parent/),
      );
    });
  });

  describe('Move', () => {
    it('rule 6.4-3, 6.5-6, 10-25: makes the parents, replaces a file, keeps the owner and answers the new entry', async () => {
      await run(
        'mkdir -p /tmp/move && cd /tmp/move && printf new > from && printf old > to && chmod 600 from',
      );
      const moved = (to: string) => call('Move', { source: '/tmp/move/from', destination: to });
      expect(await moved('/tmp/move/to')).toMatchObject([
        200,
        { entry: { name: 'to', path: '/tmp/move/to', size: 3, permissions: '-rw-------', owner: 'root' } },
      ]);
      expect(await run('cat /tmp/move/to; ls /tmp/move')).toBe('newto\n');
      await run('mv /tmp/move/to /tmp/move/from');
      expect((await moved('/tmp/move/new/parent/to'))[0]).toBe(200);
      expect(await run('cd /tmp/move && stat -c "%n %a %U" new new/parent new/parent/to')).toBe(
        'new 755 user\nnew/parent 755 user\nnew/parent/to 600 root\n',
      );
    });

    it('rule 6.5-7: answers not_found for its source and internal for a destination that it cannot replace', async () => {
      await run('mkdir -p /tmp/stuck/full/x /tmp/stuck/dir /tmp/stuck/empty && touch /dev/shm/other');
      const move = (source: string, destination: string) => call('Move', { source, destination });
      expect(await move('/tmp/stuck/missing', '/tmp/stuck/new/to')).toEqual(
        refused(404, 'not_found', /missing/),
      );
      expect(await move('/tmp/stuck/dir', '/tmp/stuck/full')).toEqual(refused(500, 'internal', /not empty/));
      expect(await move('/dev/shm/other', '/tmp/stuck/other')).toEqual(
        refused(500, 'internal', /on another device/),
      );
      expect(await move('/tmp/stuck/dir', '/tmp/stuck/dir/in/itself')).toEqual(refused(500, 'internal', /./));
      expect((await move('/tmp/stuck/dir', '/tmp/stuck/empty'))[0]).toBe(200);
      expect(await run('ls /tmp/stuck /dev/shm')).toBe('/dev/shm:\nother\n\n/tmp/stuck:\nempty\nfull\n');
    });
  });

  describe('Remove', () => {
    it('rule 6.4-5, 6.5-8, 10-25: takes a whole tree but not what its links lead to, and succeeds where nothing is', async () => {
      await run(
        'mkdir -p /tmp/remove/a/b /tmp/stays && touch /tmp/remove/a/b/c /tmp/stays/file && ln -s /tmp/stays /tmp/remove/link',
      );
      expect(await call('Remove', { path: '/tmp/remove' })).toEqual([200, {}]);
      expect(await run('ls /tmp/remove 2>&1 || ls /tmp/stays')).toMatch(/No such file[^\n]*\nfile\n$/);
      for (const path of ['/tmp/remove', '/tmp/remove/a/b', '/tmp/stays/file/below'])
        expect(await call('Remove', { path })).toEqual([200, {}]);
      expect(await call('Remove', { path: '/proc/1' })).toEqual(refused(500, 'internal', /cannot remove/));
    });
  });
});
