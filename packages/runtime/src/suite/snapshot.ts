import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../error.ts';
import { OPEN_NETWORK } from '../network/policy.ts';
import type { Instance } from '../runtime.ts';
import { runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';
import { describeTree, toMakeTree } from './tree.ts';

/** The definition of capturing the files of an instance, and of creating others from the result. */
export const snapshotSuite = (host: SuiteHost): void => {
  const code = async (promise: Promise<unknown>): Promise<string> => {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error instanceof RuntimeError ? error.code : `not a RuntimeError: ${String(error)}`;
  };

  let count = 0;
  const toId = (): string => `snap${process.pid}x${count++}`;
  const capture = async (instance: Instance): Promise<string> => {
    const id = toId();
    await instance.snapshot({ id, memory: false });
    return id;
  };
  const list = async (): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of host.runtime.snapshots.list()) ids.push(id);
    return ids.sort();
  };
  const output = async (instance: Instance, script: string): Promise<string> =>
    (await runInside(instance, script)).output;

  describe('a snapshot of the files', () => {
    it('is declared by the features', () => {
      expect(host.runtime.features.snapshot.filesystem).toBe(true);
    });

    host.inside(
      'contains every file as it was, for any number of others side by side, which all diverge',
      async () => {
        const source = await host.create();
        const { runId } = source;
        await runInside(source, toMakeTree(host.traits));
        const before = await runInside(source, describeTree);
        expect(before.output).toContain('./a/file f 644 1000:2000 5');
        const snapshot = await capture(source);
        await runInside(source, 'echo source > /srv/mine; rm /srv/a/long');
        const copies = await Promise.all([1, 2].map(() => host.create({ snapshot })));
        for (const copy of copies) expect(await runInside(copy, describeTree)).toEqual(before);
        await Promise.all(copies.map((copy, index) => runInside(copy, `echo ${index} > /srv/mine; sync`)));
        expect(await Promise.all([source, ...copies].map((one) => output(one, 'cat /srv/mine')))).toEqual([
          'source\n',
          '0\n',
          '1\n',
        ]);
        // No process of the source is in them, and all of its processes are still in the source.
        expect(await output(copies[0] as Instance, 'cat /proc/[0-9]*/cmdline')).not.toContain('sleep');
        expect(await output(source, 'cat /proc/[0-9]*/cmdline')).toContain('sleep');
        expect(source.runId).toBe(runId);
        expect(await source.state()).toBe('running');
        const third = await host.create({ snapshot });
        expect(await runInside(third, describeTree)).toEqual(before);
      },
    );

    host.inside('outlives its instance and the runtime, and no instance needs it any more', async () => {
      const source = await host.create();
      await runInside(source, 'echo kept > /root/file');
      const snapshot = await capture(source);
      await source.stop();
      await host.reopen();
      expect(await list()).toEqual([snapshot]);
      const copy = await host.create({ snapshot });
      await host.runtime.snapshots.delete(snapshot);
      await host.runtime.snapshots.delete(snapshot);
      expect(await list()).toEqual([]);
      expect(await code(host.create({ snapshot }))).toBe('not_found');
      expect(await output(copy, 'echo more >> /root/file; cat /root/file')).toBe('kept\nmore\n');
    });

    if (host.isFull)
      host.inside('can be made of an instance that began with one, and of a paused one', async () => {
        const first = await host.create();
        await runInside(first, 'echo 1 > /root/1');
        const second = await host.create({ snapshot: await capture(first) });
        await runInside(second, 'echo 2 > /root/2; rm /root/1');
        await second.pause({ memory: false });
        const snapshot = await capture(second);
        expect(await second.state()).toBe('paused');
        const third = await host.create({ snapshot });
        await second.resume();
        for (const one of [second, third]) expect(await output(one, 'ls /root')).toBe('2\n');
        await third.pause({ memory: false });
        await third.resume();
        expect(await output(third, 'cat /root/2; id -u')).toBe('2\n0\n');
      });

    if (host.isFull)
      host.inside('contains what was written a moment before, also without sync or close', async () => {
        const source = await host.create();
        const write = `exec 3>/root/open; i=0; while [ $i -lt 300 ]; do echo $i >> /root/many; i=$((i+1)); done; echo open >&3
        head -c 3000000 /dev/zero | tr '\\0' z > /root/large; sleep 1000 >/dev/null 2>&1 &`;
        await runInside(source, write);
        const copy = await host.create({ snapshot: await capture(source) });
        const look = 'cd /root; cat open; md5sum many large';
        const found = await runInside(copy, look);
        expect(found).toEqual(await runInside(source, look));
        expect(found).toMatchObject({
          code: 0,
          output: expect.stringMatching(/^open\n\w{32} {2}many\n\w{32} {2}large\n$/),
        });
      });

    if (host.isFull)
      host.inside('is of one moment, while its instance writes without a break', async () => {
        const source = await host.create();
        // Round after round, block after block: at any moment, the blocks of one round come before those of the last.
        const program = `const fs = require('fs'); const fd = fs.openSync('/root/turns', 'w+');
        for (let turn = 1; ; turn++) for (let block = 0; block < 512; block++) {
          fs.writeSync(fd, Buffer.alloc(4096, String(turn).padStart(8, '0')), 0, 4096, block * 4096);
          if (block % 16 === 0) fs.fdatasyncSync(fd);
          if (turn === 2 && block === 0) fs.writeFileSync('/root/begun', 'x');
        }`;
        await runInside(
          source,
          `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "${program}" >/dev/null 2>&1 </dev/null & until [ -s /root/begun ]; do sleep 0.01; done`,
        );
        for (let round = 0; round < 4; round++) {
          const snapshot = await capture(source);
          expect(await host.runtime.snapshots.verify(snapshot)).toEqual([]);
          const copy = await host.create({ snapshot });
          const look = `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "const b = require('fs').readFileSync('/root/turns');
          const turns = []; for (let at = 0; at < b.length; at += 8) turns.push(Number(b.toString('latin1', at, at + 8)));
          console.log(JSON.stringify([turns.length, turns[0], turns.at(-1), turns.findIndex((t, i) => i > 0 && t > turns[i - 1])]))"`;
          const [length, first, last, rise] = JSON.parse(await output(copy, look)) as number[];
          expect({ round, length, rise }).toEqual({ round, length: 512 * 512, rise: -1 });
          expect([0, 1]).toContain((first ?? 0) - (last ?? 0));
          await copy.stop();
        }
      });

    it('is verified when it was not changed', async () => {
      const snapshot = await capture(await host.create());
      expect(await host.runtime.snapshots.verify(snapshot)).toEqual([]);
      expect(await code(host.runtime.snapshots.verify('none'))).toBe('not_found');
    });

    host.inside(
      'names the resolvers of the host with and without a network, which a copy may get later',
      async () => {
        const show = 'cat /etc/resolv.conf; stat -c %u:%g:%a /etc/resolv.conf';
        const source = await host.create();
        const shown = await output(source, show);
        expect(shown).toMatch(/nameserver [\d.]+\n(.*\n)*0:0:644\n$/);
        const copy = await host.create({ snapshot: await capture(source), network: OPEN_NETWORK });
        expect(await output(copy, show)).toBe(shown);
      },
    );

    host.inside('does not let a copy write to the host where /etc has become a link', async () => {
      const source = await host.create();
      await runInside(source, 'cp -a /etc /etc.old && rm -rf /etc && ln -s /tmp/elsewhere /etc');
      const snapshot = await capture(source);
      const copy = await host.create({ snapshot, network: OPEN_NETWORK });
      expect(await output(copy, 'readlink /etc')).toBe('/tmp/elsewhere\n');
    });

    host.inside('is refused for an id in use, for another size of disk, and for what has died', async () => {
      const instance = await host.create();
      const snapshot = await capture(instance);
      expect(await code(instance.snapshot({ id: snapshot, memory: false }))).toBe('already_exists');
      const spec = host.spec({ snapshot });
      const limits = { ...spec.limits, diskBytes: 2 * spec.limits.diskBytes };
      expect(await code(host.runtime.create({ ...spec, limits }))).toBe('internal');
      // No process is left to answer.
      await runInside(instance, 'kill -9 $PPID').catch(() => undefined);
      await expect.poll(() => instance.state()).toBe('stopped');
      expect(await code(instance.snapshot({ id: toId(), memory: false }))).toBe('unavailable');
      expect(await list()).toEqual([snapshot]);
    });

    if (host.isFull)
      host.inside('stops its instance for a moment only', async () => {
        const instance = await host.create();
        const tick = `const fs = require('fs'); let last = performance.now(), longest = 0;
        setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 5);
        process.on('SIGTERM', () => { fs.writeFileSync('/root/next', String(longest)); fs.renameSync('/root/next', '/root/longest'); });
        fs.writeFileSync('/root/pid', String(process.pid))`;
        await runInside(
          instance,
          `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "${tick}" >/dev/null 2>&1 </dev/null & until [ -s /root/pid ]; do sleep 0.01; done`,
        );
        const tell =
          'rm -f /root/longest; kill -TERM $(cat /root/pid); until [ -e /root/longest ]; do sleep 0.01; done; cat /root/longest';
        const read = async (): Promise<number> => Number(await output(instance, tell));
        const quietMs = await read();
        await capture(instance);
        const longestMs = await read();
        expect(longestMs).toBeGreaterThan(0);
        // A busy machine keeps a program waiting without a snapshot too.
        expect(longestMs).toBeLessThan(1_000 + 3 * quietMs);
      });
  });
};
