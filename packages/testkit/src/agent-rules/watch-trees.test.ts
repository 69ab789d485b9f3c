import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { toText, watchById } from './watch-by-id.ts';

testAgents((agent) => {
  const { run } = agent;
  const created = (texts: string[]): string[] =>
    texts.filter((text) => text.startsWith('CREATE ')).map((text) => text.slice(7));

  describe('a recursive watch', () => {
    it('rule 6.5-17, 11-4: reports every entry of a tree that is unpacked meanwhile, each once', async () => {
      await run(
        `mkdir -p /tmp/source /tmp/unpacked && cd /tmp/source && for i in $(seq 200); do
         mkdir -p d$((i % 7))/e$((i % 31))/f$i && echo $i > d$((i % 7))/e$((i % 31))/f$i/file; done && tar -cf /tmp/tree.tar .`,
      );
      const expected = (await run('cd /tmp/source && find . -mindepth 1')).trim().split('\n');
      const names = expected.map((path) => path.slice(2)).toSorted();
      const watch = await watchById(agent.client, { path: '/tmp/unpacked', recursive: true });
      await run('cd /tmp/unpacked && tar -xf /tmp/tree.tar && mkdir end');
      const texts = (await watch.until('CREATE end')).map(toText);
      expect(created(texts).toSorted()).toEqual([...names, 'end'].toSorted());
      // The time that tar sets is a change of a directory too.
      const written = new Set(
        texts.filter((text) => /^WRITE .*\/file$/.test(text)).map((text) => text.slice('WRITE '.length)),
      );
      expect([...written].toSorted()).toEqual(names.filter((name) => name.endsWith('/file')));
    });

    it('rule 11-4: reports what was made in new directories by one command, down to the deepest', async () => {
      await run('mkdir -p /tmp/nested');
      const watch = await watchById(agent.client, { path: '/tmp/nested', recursive: true });
      await run(
        'cd /tmp/nested && mkdir -p a/b/c/d/e && echo x > a/b/c/d/e/deep && : > a/b/empty && mkdir end',
      );
      const texts = (await watch.until('CREATE end')).map(toText);
      const dirs = ['a', 'a/b', 'a/b/c', 'a/b/c/d', 'a/b/c/d/e'];
      expect(created(texts).toSorted()).toEqual([...dirs, 'a/b/c/d/e/deep', 'a/b/empty', 'end'].toSorted());
      expect(texts).toContain('WRITE a/b/c/d/e/deep');
      expect(texts).not.toContain('WRITE a/b/empty');
    });

    it('rule 11-5: reports a change of the attributes of a sub-directory once', async () => {
      await run('mkdir -p /tmp/attributes/sub');
      const watch = await watchById(agent.client, { path: '/tmp/attributes', recursive: true });
      await run('cd /tmp/attributes && chmod 700 sub && mkdir end');
      expect((await watch.until('CREATE end')).map(toText)).toEqual(['CHMOD sub', 'CREATE end']);
    });

    it('rule 6.5-17: covers the directories below, and reports a renamed one under its new name', async () => {
      await run('mkdir -p /tmp/renamed/a/deep /tmp/elsewhere && ln -s /tmp/elsewhere /tmp/renamed/link');
      const watch = await watchById(agent.client, { path: '/tmp/renamed', recursive: true });
      await run(
        `cd /tmp/renamed && : > a/deep/old && mv a b && : > b/deep/file && : > /tmp/elsewhere/unseen && rm -r b && mkdir end`,
      );
      const texts = (await watch.until('CREATE end')).map(toText);
      // The order in which rm reads a directory is that of the file system.
      expect(texts.slice(0, 4)).toEqual(['CREATE a/deep/old', 'RENAME a', 'CREATE b', 'CREATE b/deep/file']);
      expect(texts.slice(4, 6).toSorted()).toEqual(['REMOVE b/deep/file', 'REMOVE b/deep/old']);
      expect(texts.slice(6)).toEqual(['REMOVE b/deep', 'REMOVE b', 'CREATE end']);
    });

    it('rule 6.5-17, 11-4: follows ten thousand directories that are there, and all of them when they are moved in', async () => {
      await run(
        `mkdir -p /tmp/many/in && cd /tmp/many && for i in $(seq 100); do mkdir -p out/d$i && (cd out/d$i && mkdir $(seq 99)); done`,
      );
      const watch = await watchById(agent.client, { path: '/tmp/many/in', recursive: true });
      await run('mv /tmp/many/out /tmp/many/in/out && mkdir /tmp/many/in/end');
      const texts = (await watch.until('CREATE end')).map(toText);
      expect(texts).toHaveLength(10_002);
      expect(new Set(texts).size).toBe(10_002);
      const again = await watchById(agent.client, { path: '/tmp/many', recursive: true });
      await run(': > /tmp/many/in/out/d100/99/file');
      expect((await watch.until('CREATE out/d100/99/file')).map(toText)).toEqual(['CREATE out/d100/99/file']);
      expect((await again.until('CREATE in/out/d100/99/file')).map(toText)).toEqual([
        'CREATE in/out/d100/99/file',
      ]);
    });
  });

  describe('a recursive watch of directories of the template', () => {
    agent.needs('sandbox');

    it('rule 6.5-17: reports what is made in them', async () => {
      const watch = await watchById(agent.client, { path: '/usr', recursive: true });
      await run(': > /usr/share/doc/from-the-image && mkdir /usr/end');
      expect((await watch.until('CREATE end')).map(toText)).toContain('CREATE share/doc/from-the-image');
    });
  });
});
