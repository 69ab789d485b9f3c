import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { toText, watchById } from './watch-by-id.ts';

testAgents((agent) => {
  const { run } = agent;
  const failure = async (promise: Promise<unknown>): Promise<{ code: Code | undefined; message: string }> => {
    const error: unknown = await promise.then(
      () => undefined,
      (cause: unknown) => cause,
    );
    return error === undefined
      ? { code: undefined, message: 'no failure' }
      : { code: ConnectError.from(error).code, message: ConnectError.from(error).rawMessage };
  };
  let folders = 0;
  const folder = async (): Promise<string> => {
    folders += 1;
    await run(`mkdir -p /tmp/watch/${folders}`);
    return `/tmp/watch/${folders}`;
  };

  describe('a watcher by id', () => {
    it('rule 6.4-7, 6.4-8, 6.5-11, 6.5-14, 6.5-15: reports creating, writing, attributes and removing in their order, by relative names', async () => {
      const dir = await folder();
      const watch = await watchById(agent.client, { path: dir });
      await run(`cd ${dir} && printf x > a && cat a && chmod 600 a && printf y >> a && rm a && chmod 700 .`);
      expect((await watch.until('CHMOD .')).map(toText)).toEqual([
        'CREATE a',
        'WRITE a',
        'CHMOD a',
        'WRITE a',
        'REMOVE a',
        'CHMOD .',
      ]);
      expect((await agent.client.filesystem.getWatcherEvents({ watcherId: watch.id })).events).toEqual([]);
    });

    it('rule 6.5-15: reports nothing for reading, listing, opening and closing', async () => {
      const dir = await folder();
      await run(`cd ${dir} && echo text > file && mkdir sub`);
      const watch = await watchById(agent.client, { path: dir, recursive: true });
      await run(
        `cd ${dir} && cat file && ls -la . sub && sha256sum file && exec 3< file && exec 3<&-; mkdir end`,
      );
      expect((await watch.until('CREATE end')).map(toText)).toEqual(['CREATE end']);
    });

    it('rule 6.5-16: reports a rename inside as RENAME of the old name and CREATE of the new, and a move into or out of the directory as one of the two', async () => {
      const dir = await folder();
      const outside = await folder();
      await run(`touch ${dir}/old ${dir}/leaves ${outside}/comes`);
      const watch = await watchById(agent.client, { path: dir });
      await run(`mv ${dir}/old ${dir}/new && mv ${dir}/leaves ${outside} && mv ${outside}/comes ${dir}`);
      expect((await watch.until('CREATE comes')).map(toText)).toEqual([
        'RENAME old',
        'CREATE new',
        'RENAME leaves',
        'CREATE comes',
      ]);
    });

    it('rule 6.5-15: sees an upload as CREATE, WRITE and perhaps CHMOD', async () => {
      const dir = await folder();
      const watch = await watchById(agent.client, { path: dir });
      await agent.files.write(`${dir}/uploaded`, 'content');
      await run(`mkdir ${dir}/end`);
      const texts = (await watch.until('CREATE end')).map(toText).filter((text) => text !== 'CHMOD uploaded');
      expect(texts).toEqual(['CREATE uploaded', 'WRITE uploaded', 'CREATE end']);
    });

    it('rule 6.5-19: attaches entries only when asked, and only where something still is', async () => {
      const dir = await folder();
      const bare = await watchById(agent.client, { path: dir });
      const full = await watchById(agent.client, { path: dir, includeEntry: true });
      await run(`printf four > ${dir}/stays`);
      const created = await full.until('WRITE stays');
      expect(created.map(({ entry }) => [entry?.path, entry?.owner])).toEqual(
        created.map(() => [`${dir}/stays`, 'root']),
      );
      expect(created.at(-1)?.entry?.size).toBe(4n);
      await run(`chmod 640 ${dir}/stays`);
      expect((await full.until('CHMOD stays')).map(({ entry }) => entry?.mode)).toEqual([0o640]);
      await run(`cd ${dir} && mv stays gone && rm gone`);
      const rest = await full.until('REMOVE gone');
      const entryOf = (text: string) => rest.find((event) => toText(event) === text)?.entry;
      expect([entryOf('RENAME stays'), entryOf('REMOVE gone')]).toEqual([undefined, undefined]);
      const plain = await bare.until('REMOVE gone');
      expect(plain.map(({ entry }) => entry)).toEqual(plain.map(() => undefined));
    });

    it('rule 6.4-9, 6.5-11, 6.5-20: has an opaque id that any user may use, unknown once it is removed', async () => {
      const dir = await folder();
      const { id } = await watchById(agent.client, { path: dir });
      expect(id).toMatch(/^w[a-z0-9]{20}$/);
      const { filesystem } = agent.clientOf({ user: 'root' });
      await run(`: > ${dir}/file`);
      await expect
        .poll(async () => (await filesystem.getWatcherEvents({ watcherId: id })).events.map(toText))
        .toEqual(['CREATE file']);
      expect(await filesystem.removeWatcher({ watcherId: id })).toMatchObject({});
      for (const call of ['getWatcherEvents', 'removeWatcher'] as const)
        expect(await failure(filesystem[call]({ watcherId: id }))).toMatchObject({ code: Code.NotFound });
    });

    it('rule 6.5-18, 6.5-11: reports the removal of its root as REMOVE of . and nothing after it', async () => {
      const dir = await folder();
      const watch = await watchById(agent.client, { path: dir });
      await run(`rmdir ${dir}`);
      expect((await watch.until('REMOVE .')).map(toText)).toEqual(['REMOVE .']);
      await run(`mkdir ${dir} && : > ${dir}/unseen`);
      expect((await agent.client.filesystem.getWatcherEvents({ watcherId: watch.id })).events).toEqual([]);
    });

    it('rule 6.5-18, 6.5-11: reports the move of its root as RENAME of ., then its error once, and is removed', async () => {
      const dir = await folder();
      const watch = await watchById(agent.client, { path: dir });
      await run(`mv ${dir} ${dir}-moved && : > ${dir}-moved/unseen`);
      expect((await watch.until('RENAME .')).map(toText)).toEqual(['RENAME .']);
      const get = () => failure(agent.client.filesystem.getWatcherEvents({ watcherId: watch.id }));
      expect(await get()).toMatchObject({ code: Code.Internal, message: expect.stringContaining('moved') });
      expect(await get()).toMatchObject({ code: Code.NotFound });
    });
  });

  describe('WatchDir', () => {
    it('rule 6.4-6, 6.5-9, 6.5-18: starts with start, streams events and ends when its root is moved', async () => {
      const dir = await folder();
      const seen: string[] = [];
      for await (const { event } of agent.client.filesystem.watchDir({ path: dir })) {
        seen.push(event.case === 'filesystem' ? toText(event.value) : String(event.case));
        if (seen.length === 1) await run(`: > ${dir}/file && mv ${dir} ${dir}-moved`);
      }
      expect(seen).toEqual(['start', 'CREATE file', 'RENAME .']);
    });

    it('rule 6.5-9: answers not_found and invalid_argument, like CreateWatcher', async () => {
      const { filesystem } = agent.client;
      const first = (path: string) => filesystem.watchDir({ path })[Symbol.asyncIterator]().next();
      for (const [path, code] of [
        ['/tmp/nowhere', Code.NotFound],
        ['/etc/passwd', Code.InvalidArgument],
      ] as const) {
        expect((await failure(first(path))).code).toBe(code);
        expect((await failure(filesystem.createWatcher({ path }))).code).toBe(code);
      }
    });
  });
});
