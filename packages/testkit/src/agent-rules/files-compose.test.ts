import { randomBytes } from 'node:crypto';
import { createSignature } from '@skerry/envd-client';
import { NotFoundError, Sandbox } from '@skerry/sdk';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';

testAgents((agent) => {
  const { call, refusal, get, put } = agent.plain;
  const route = 'POST /files/compose';
  const toCall = (body: unknown) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { run } = agent;

  describe('joining files', () => {
    it('rule 5.2-4: joins the sources in order, deletes them and answers the record', async () => {
      const [a, b] = [randomBytes(5_000_000), randomBytes(700_001)];
      await agent.files.write('parts/a', a);
      await agent.files.write('parts/b', b);
      const body = { source_paths: ['parts/b', '/home/user/parts/a'], destination: 'joined/all' };
      const { status, headers, text } = await call(route, toCall(body));
      expect([status, headers['content-type'], text]).toEqual([
        200,
        'application/json',
        '{"path":"/home/user/joined/all","name":"all","type":"file"}',
      ]);
      expect((await get('joined/all')).bytes.equals(Buffer.concat([b, a]))).toBe(true);
      expect(await run('ls -A /home/user/parts /home/user/joined')).toBe(
        '/home/user/joined:\nall\n\n/home/user/parts:\n',
      );
      expect(await run('stat -c "%a %U %G" /home/user/joined /home/user/joined/all')).toBe(
        '755 user user\n644 user user\n',
      );
    });

    it('rule 5.2-4: replaces a destination in one step, keeps its mode and owner and clears its metadata', async () => {
      await put('/tmp/replaced', 'old', { 'X-Metadata-A': 'b' });
      await run('chown root:user /tmp/replaced && chmod 4750 /tmp/replaced');
      await agent.files.write('part', 'new');
      // A program that has the old file open goes on reading the old one.
      const reading = run(
        'exec 3< /tmp/replaced; touch /tmp/open; while [ -e /home/user/part ]; do :; done; cat <&3',
      );
      await expect.poll(() => agent.files.exists('/tmp/open')).toBe(true);
      const body = { source_paths: ['part'], destination: '/tmp/replaced' };
      expect(JSON.parse((await call(route, toCall(body))).text)).toEqual({
        path: '/tmp/replaced',
        name: 'replaced',
        type: 'file',
      });
      expect(await reading).toBe('old');
      expect(await agent.files.read('/tmp/replaced')).toBe('new');
      expect(await run('stat -c "%a %U %G" /tmp/replaced')).toBe('4750 root user\n');
      const { entry } = await agent.client.filesystem.stat({ path: '/tmp/replaced' });
      expect(entry?.metadata).toEqual({});
    });

    it('rule 5.2-4: is opened by the token alone, not by a signature', async () => {
      await agent.files.write('signed', 'x');
      const input = { path: 'signed', operation: 'write', user: '', accessToken: agent.accessToken } as const;
      const search = `?${new URLSearchParams({ path: 'signed', signature: await createSignature(input) })}`;
      const body = toCall({ source_paths: ['signed'], destination: 'other' });
      for (const token of [null, 'wrong'])
        expect(await refusal(`${route}${search}`, { ...body, token })).toMatchObject({ status: 401 });
      expect(await agent.files.read('signed')).toBe('x');
      expect((await call(route, body)).status).toBe(200);
    });

    it('rule 5.2-4: uses the home directory of the user in the body, who owns what is made', async () => {
      await run('echo -n r > ~root/part');
      const body = { source_paths: ['part'], destination: 'made/all', username: 'root' };
      expect(JSON.parse((await call(route, toCall(body))).text)).toMatchObject({
        path: `${agent.rootHome}/made/all`,
      });
      expect(await run('stat -c %U ~root/made ~root/made/all')).toBe('root\nroot\n');
      expect(await refusal(route, toCall({ ...body, username: 'ghost' }))).toEqual({
        status: 401,
        message: "invalid username: 'ghost'",
      });
    });

    it.each([
      ['no JSON', undefined, 400],
      ['no source', { source_paths: [], destination: 'x' }, 400],
      ['no destination', { source_paths: ['kept'] }, 400],
      ['a source that is missing', { source_paths: ['kept', 'missing'], destination: 'x' }, 404],
      ['a directory among the sources', { source_paths: ['kept', '/tmp'], destination: 'x' }, 400],
      ['a device among the sources', { source_paths: ['kept', '/dev/zero'], destination: 'x' }, 400],
      ['a FIFO among the sources', { source_paths: ['kept', 'fifo'], destination: 'x' }, 400],
      ['a directory as destination', { source_paths: ['kept'], destination: '/tmp' }, 400],
      ['a FIFO as destination', { source_paths: ['kept'], destination: 'fifo' }, 400],
      ['the destination among the sources', { source_paths: ['kept', 'also'], destination: 'also' }, 400],
      ['it in another spelling', { source_paths: ['kept', 'also'], destination: './x/../also' }, 400],
      ['it under the name of a link', { source_paths: ['kept', 'also'], destination: 'symbolic' }, 400],
      ['it under another name', { source_paths: ['kept', 'also'], destination: 'hard' }, 400],
      ['a file in place of a parent', { source_paths: ['kept'], destination: 'also/x' }, 500],
    ])('rule 5.2-5: refuses %s and loses nothing', async (_title, body, status) => {
      await run(`cd /home/user && rm -f x && echo -n kept > kept && echo -n also > also &&
      ln -sf also symbolic && ln -f also hard && ([ -p fifo ] || mkfifo fifo)`);
      expect(await refusal(route, toCall(body))).toMatchObject({ status });
      expect(await run('cd /home/user && cat kept also hard; find . -name "*.part" -o -name x')).toBe(
        'keptalsoalso',
      );
    });

    it('rule 5.2-5: loses nothing when the disk has no room for both', async () => {
      const other = await agent.another();
      const inHome = (script: string) => other.run(`cd ~ && ${script}`, 'user');
      await inHome(
        'fallocate -l $(( $(df --output=avail -B1 . | tail -1) * 2 / 3 )) part; echo -n old > all',
      );
      const before = await inHome('df --output=avail -B4M . | tail -1');
      const body = { source_paths: ['part'], destination: 'all' };
      expect(await other.plain.refusal(route, toCall(body))).toMatchObject({ status: 507 });
      expect(await other.files.read('all')).toBe('old');
      expect(await other.files.exists('part')).toBe(true);
      expect(await inHome('df --output=avail -B4M . | tail -1')).toEqual(before);
      await other.end();
    });
  });

  describe('joining files in a sandbox', () => {
    agent.needs('platform');

    it('rule 5.2-5: loses nothing when the sandbox is paused and resumed in the middle', async () => {
      const other = await agent.another();
      const { connection } = agent.stack;
      const inside = await Sandbox.connect(other.sandboxId, connection);
      const usedMib = async (of: Sandbox): Promise<number> =>
        Number((await of.commands.run('df --output=used -BM . | tail -1 | tr -d M')).stdout);
      await inside.commands.run('fallocate -l 800M part && echo old > all');
      const joining = inside.files.compose(['part'], 'all').catch((error: unknown) => error);
      await expect.poll(() => usedMib(inside)).toBeGreaterThan(900);
      await inside.pause({ memory: false });
      await joining;
      const again = await Sandbox.connect(other.sandboxId, connection);
      const { stdout } = await again.commands.run(
        'find -type f -name "[!.]*" -o -name "*.part" | xargs stat -c "%n %s" | sort',
      );
      // Whole before or whole after, never in between.
      expect(['./all 4\n./part 838860800\n', './all 838860800\n']).toContain(stdout);
      expect(await usedMib(again)).toBeLessThan(900);
      await other.end();
    });

    it('rule 5.2-5: the SDK rejects with NotFoundError when a source is missing', async () => {
      const sdk = await Sandbox.connect(agent.sandboxId, agent.stack.connection);
      await expect(sdk.files.compose(['nothing'], 'x')).rejects.toThrow(NotFoundError);
    });
  });
});
