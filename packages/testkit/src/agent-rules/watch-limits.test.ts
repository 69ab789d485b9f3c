import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin } from './process-events.ts';
import { toText, watchById } from './watch-by-id.ts';

testAgents((agent) => {
  const runOnHost = promisify(execFile);
  const { run } = agent;
  const codeOf = async (promise: Promise<unknown>): Promise<Code | undefined> =>
    promise.then(
      () => undefined,
      (error: unknown) => ConnectError.from(error).code,
    );

  /** The number that a process of the sandbox, which is started for that, has outside of it. */
  const findProcess = async (): Promise<string> => {
    const mark = `3600.${randomInt(2 ** 40)}`;
    await begin(agent.client.process.start({ process: { cmd: 'sleep', args: [mark] } }));
    const isIt = (pid: string): boolean => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${mark}\0`;
      } catch {
        return false; // The process has ended meanwhile.
      }
    };
    for (;;) {
      const found = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && isIt(pid));
      if (found !== undefined) return found;
      await delay(20);
    }
  };

  describe('watchers', () => {
    it('rule 11-6: fail once with internal when their buffer overflows, and are freed', async () => {
      await run('mkdir -p /tmp/flood');
      const watch = await watchById(agent.client, { path: '/tmp/flood' });
      await run('cd /tmp/flood && seq 17000 | xargs touch');
      const get = () => codeOf(agent.client.filesystem.getWatcherEvents({ watcherId: watch.id }));
      await expect.poll(get).toBe(Code.Internal);
      expect(await get()).toBe(Code.NotFound);
      const next = await watchById(agent.client, { path: '/tmp/flood' });
      await run(': > /tmp/flood/next');
      expect((await next.until('CREATE next')).map(toText)).toEqual(['CREATE next']);
    });

    it('rule 11-6: are bounded in number, and make room when they are removed', async () => {
      const { filesystem } = agent.client;
      const ids: string[] = [];
      const codes = new Set<Code>();
      const create = (): Promise<void> =>
        filesystem.createWatcher({ path: '/tmp' }).then(
          ({ watcherId }) => void ids.push(watcherId),
          (error: unknown) => void codes.add(ConnectError.from(error).code),
        );
      while (codes.size === 0 && ids.length < 3000) await Promise.all(Array.from({ length: 50 }, create));
      expect(codes).toEqual(new Set([Code.ResourceExhausted]));
      await filesystem.removeWatcher({ watcherId: ids.pop() as string });
      codes.clear();
      await create();
      expect(codes.size).toBe(0);
      while (ids.length > 0)
        await Promise.all(ids.splice(0, 50).map((watcherId) => filesystem.removeWatcher({ watcherId })));
    });
  });

  describe('watchers beyond what the kernel allows', () => {
    agent.needs('sandbox');

    it('rule 11-6: answer resource_exhausted, and leave no watch behind', async () => {
      const pid = await findProcess();
      // Counted for each user namespace, which is the sandbox; seen from inside it cannot be written.
      const limit = (count: number) =>
        runOnHost('nsenter', [
          '-t',
          pid,
          '-U',
          'sh',
          '-c',
          `echo ${count} > /proc/sys/user/max_inotify_watches`,
        ]);
      await run('mkdir -p /tmp/limited && cd /tmp/limited && mkdir -p $(seq 300) small/a small/b');
      const { filesystem } = agent.client;
      await limit(100);
      for (let count = 0; count < 3; count += 1)
        expect(await codeOf(filesystem.createWatcher({ path: '/tmp/limited', recursive: true }))).toBe(
          Code.ResourceExhausted,
        );
      const small = await watchById(agent.client, { path: '/tmp/limited/small', recursive: true });
      await run(': > /tmp/limited/small/b/file');
      expect((await small.until('CREATE b/file')).map(toText)).toEqual(['CREATE b/file']);
      // A tree that outgrows the limit ends the watch with the reason.
      await run('cd /tmp/limited/small && mkdir $(seq 150)');
      const get = () => codeOf(filesystem.getWatcherEvents({ watcherId: small.id }));
      await expect.poll(get).toBe(Code.ResourceExhausted);
      await limit(100_000);
      const { watcherId } = await filesystem.createWatcher({ path: '/tmp/limited', recursive: true });
      await filesystem.removeWatcher({ watcherId });
    });
  });

  describe('a mount of FUSE', () => {
    const MOUNT = `import ctypes, sys
options = b"fd=3,rootmode=40000,user_id=0,group_id=0,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(ctypes.get_errno() if libc.mount(b"net", sys.argv[1].encode(), b"fuse", 0, options) else 0)`;

    let server: ChildProcess | undefined;
    let mount: string;
    let source: string;
    beforeAll(async () => {
      source = mkdtempSync(join(tmpdir(), 'skerry-fuse-'));
      await run('mkdir -p /tmp/mounts/net /tmp/mounts/local');
      const pid = await findProcess();
      // No sandbox may do this by itself: the host mounts into it, as it does with a volume.
      const fd = openSync('/dev/fuse', 'r+');
      const stdio = ['ignore', 'ignore', 'ignore', fd] as const;
      const enter = ['-t', pid, '-m', 'python3', '-c', MOUNT, '/tmp/mounts/net'];
      expect(await once(spawn('nsenter', enter, { stdio: [...stdio] }), 'exit')).toEqual([0, null]);
      for (const name of ['lower', 'upper', 'work']) mkdirSync(join(source, name));
      const dirs = `lowerdir=${source}/lower,upperdir=${source}/upper,workdir=${source}/work`;
      server = spawn('fuse-overlayfs', ['-f', '-o', dirs, '/dev/fd/3'], { stdio: [...stdio] });
      closeSync(fd);
      // Written to from outside: the server knows none of the sandbox's users.
      mount = `/proc/${pid}/root/tmp/mounts/net`;
      expect(await run('stat -f -c %T /tmp/mounts/net')).toBe('fuseblk\n');
    });
    afterAll(async () => {
      if (server?.kill() === true) await once(server, 'exit');
      rmSync(source, { recursive: true });
    });

    it('rule 6.5-10: is refused with invalid_argument unless the request allows it', async () => {
      const { filesystem } = agent.client;
      const path = '/tmp/mounts/net';
      expect(await codeOf(filesystem.createWatcher({ path }))).toBe(Code.InvalidArgument);
      const stream = filesystem.watchDir({ path })[Symbol.asyncIterator]();
      expect(await codeOf(stream.next())).toBe(Code.InvalidArgument);
      const { watcherId } = await filesystem.createWatcher({ path, allowNetworkMounts: true });
      writeFileSync(join(mount, 'file'), '');
      await expect
        .poll(async () => (await filesystem.getWatcherEvents({ watcherId })).events.map(toText))
        .toContain('CREATE file');
    });

    it('rule 6.5-10: below a watched directory is left out unless the request allows it', async () => {
      const without = await watchById(agent.client, { path: '/tmp/mounts', recursive: true });
      const { filesystem } = agent.client;
      const request = { path: '/tmp/mounts', recursive: true, allowNetworkMounts: true };
      const { watcherId } = await filesystem.createWatcher(request);
      mkdirSync(join(mount, 'below'));
      await run(': > /tmp/mounts/local/file');
      expect((await without.until('CREATE local/file')).map(toText)).toEqual(['CREATE local/file']);
      await expect
        .poll(async () => (await filesystem.getWatcherEvents({ watcherId })).events.map(toText))
        .toEqual(['CREATE net/below', 'CREATE local/file']);
    });
  });
});
