import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { filesOf, rawBody } from './plain-calls.ts';

testAgents((agent) => {
  const { call, get, put, refusal } = agent.plain;
  const { run } = agent;
  const pathOf = async (path: string): Promise<string | undefined> =>
    (await agent.client.filesystem.stat({ path })).entry?.path;
  const upload = { headers: rawBody, body: 'x' };

  describe('a path', () => {
    it('rule 5.3-1, 10-24: that is empty is the home directory when no default directory is set', async () => {
      expect(await pathOf('')).toBe('/home/user');
      expect((await refusal('GET /files')).message).toBe('path "/home/user" is a directory');
      expect((await refusal('GET /files?username=root')).message).toBe(
        `path "${agent.rootHome}" is a directory`,
      );
    });

    it('rule 5.3-1, 10-24: that is empty is the default directory where one is set, any other starts at the home directory', async () => {
      const other = await agent.another({ defaultWorkdir: '/tmp/workdir' });
      const { filesystem } = other.client;
      await filesystem.makeDir({ path: '/tmp/workdir' });
      expect(await filesystem.stat({ path: '' })).toMatchObject({ entry: { path: '/tmp/workdir' } });
      expect(await filesystem.stat({ path: '.' })).toMatchObject({ entry: { path: '/home/user' } });
      expect((await other.plain.put('a', 'x')).text).toContain('"path":"/home/user/a"');
      await other.end();
    });

    it('rule 5.3-2: that is ~, or begins with ~/, is the home of the user of the request', async () => {
      expect(await pathOf('~')).toBe('/home/user');
      expect((await put('~/tilde/a', 'x')).text).toContain('"path":"/home/user/tilde/a"');
      await call('POST /files?path=~/b&username=root', upload);
      expect(await run('cat ~root/b')).toBe('x');
      expect((await call('GET /files?path=~/b&username=root')).text).toBe('x');
      expect((await call('GET /files?path=~/b')).status).toBe(404);
    });

    it.each(['~root', '~root/x', '~user/x', '~~'])('rule 5.3-3: that is %s is refused', async (path) => {
      expect(await refusal(`GET ${filesOf(path)}`)).toMatchObject({ status: 400 });
      expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 400 });
      // InvalidArgument
      await expect(agent.client.filesystem.stat({ path })).rejects.toMatchObject({ code: 3 });
      await expect(agent.client.filesystem.makeDir({ path })).rejects.toMatchObject({ code: 3 });
    });

    it('rule 5.3-4, 10-24: is taken as it is when absolute, and starts at the home otherwise', async () => {
      const written = async (route: string) => JSON.parse((await call(`POST ${route}`, upload)).text)[0].path;
      const asRoot = agent.clientOf({ user: 'root' }).filesystem;
      expect(await asRoot.stat({ path: '.' })).toMatchObject({ entry: { path: agent.rootHome } });
      expect(await written('/files?path=/tmp/absolute')).toBe('/tmp/absolute');
      expect(await written('/files?path=relative/a')).toBe('/home/user/relative/a');
      expect(await written('/files?path=./relative/../b')).toBe('/home/user/b');
      expect(await written('/files?path=relative/a&username=root')).toBe(`${agent.rootHome}/relative/a`);
      expect(await written('/files?path=../up')).toBe('/home/up');
      // Only at its beginning does a tilde mean anything.
      expect(await written('/files?path=a~/~b')).toBe('/home/user/a~/~b');
    });

    it('rule 5.3-5: is read and written with the rights of the agent, not of the user', async () => {
      await run(
        'mkdir -m 700 /home/secret && echo -n mine > /home/secret/file && chmod 600 /home/secret/file',
      );
      expect((await call('GET /files?path=/home/secret/file&username=user')).text).toBe('mine');
      expect((await call('POST /files?path=/home/secret/new&username=user', upload)).status).toBe(200);
      expect((await call('POST /files?path=/home/secret/file&username=user', upload)).status).toBe(200);
      // What is made belongs to the user, what was there to whom it belonged.
      expect(await run('stat -c "%a %U %G" /home/secret/new /home/secret/file')).toBe(
        '644 user user\n600 root root\n',
      );
    });

    it('rule 5.3-6: gets its missing parents with mode 0755, and they belong to the user', async () => {
      await call('POST /files?path=/home/p/q/r/file&username=user', upload);
      await call('POST /files?path=/home/p/root/s/file&username=root', upload);
      await agent.client.filesystem.makeDir({ path: '/home/p/made/t' });
      expect(
        await run(
          'stat -c "%n %a %U %G" /home/p /home/p/q /home/p/q/r /home/p/root /home/p/root/s /home/p/made/t',
        ),
      ).toBe(
        [
          '/home/p 755 user user',
          '/home/p/q 755 user user',
          '/home/p/q/r 755 user user',
          '/home/p/root 755 root root',
          '/home/p/root/s 755 root root',
          '/home/p/made/t 755 user user',
          '',
        ].join('\n'),
      );
      expect(await run('stat -c "%U" /home')).toBe('root\n');
    });

    it('rule 5.3-7: with a file in place of a parent answers 500 and internal, and keeps that file', async () => {
      await agent.files.write('/tmp/plain', 'kept');
      for (const path of ['/tmp/plain/below', '/tmp/plain/further/below'])
        expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 500 });
      // Internal
      await expect(agent.client.filesystem.makeDir({ path: '/tmp/plain/below' })).rejects.toMatchObject({
        code: 13,
      });
      expect(await agent.files.read('/tmp/plain')).toBe('kept');
    });

    it('rule 5.4-1: that holds a NUL byte, is too long or is a loop of links answers 400', async () => {
      await run('ln -sfn circle /tmp/circle');
      const bad = [
        '/tmp/a\0b',
        `/tmp/${'x'.repeat(256)}`,
        `/${'x/'.repeat(2100)}`,
        '/tmp/circle',
        '/tmp/circle/a',
      ];
      for (const path of bad) {
        const title = path.slice(0, 20);
        expect(await refusal(`GET ${filesOf(path)}`), title).toMatchObject({ status: 400 });
        expect(await refusal(`POST ${filesOf(path)}`, upload), title).toMatchObject({ status: 400 });
      }
      expect((await put(`/tmp/${'x'.repeat(255)}`, 'x')).status).toBe(200);
      expect((await get(`/tmp/${'x'.repeat(255)}`)).text).toBe('x');
    });
  });
});
