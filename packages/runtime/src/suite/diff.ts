import { describe, expect, it } from 'vitest';
import type { Difference, TreeOrigin } from '../runtime.ts';
import { runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';

/** The definition of comparing the files of instances, snapshots and images. */
export const diffSuite = (host: SuiteHost): void => {
  const diff = async (from: TreeOrigin, to: TreeOrigin): Promise<Difference[]> => {
    const found: Difference[] = [];
    for await (const difference of host.runtime.snapshots.diff(from, to)) found.push(difference);
    return found;
  };
  /** Returns the differences below one folder as lines. */
  const below = (found: readonly Difference[], folder: string): string[] =>
    found
      .filter(({ path }) => path.startsWith(`${folder}/`))
      .map(({ path, change, fields = [] }) => [change, path, ...fields].join(' '));

  let count = 0;
  const toId = (): string => `diff${process.pid}x${count++}`;

  describe('a comparison of files', () => {
    it('reports what is added, removed and changed, in which respect, between snapshots and running instances', async () => {
      const source = await host.create();
      const prepare = `mkdir -p /srv/t/dir /srv/t/gone && cd /srv/t && echo a > same && echo a > content && echo a > mode
        echo a > owner; ln -s a link; echo a > kind; echo a > gone/file; mkdir moved && echo x > moved/in; echo a > touched`;
      expect(await runInside(source, prepare)).toMatchObject({ code: 0 });
      const before = toId();
      await source.snapshot({ id: before, memory: false });
      const change = `cd /srv/t && echo b > content && chmod 600 mode && chown 1000:1001 owner && ln -sfn b link
        rm kind && mkdir kind && rm -r gone && echo longer >> dir/new && mv moved elsewhere && touch touched same
        ln same hard`;
      expect(await runInside(source, change)).toMatchObject({ code: 0 });
      const expected = [
        'changed /srv/t/content content',
        'added /srv/t/dir/new',
        'added /srv/t/elsewhere',
        'added /srv/t/elsewhere/in',
        'removed /srv/t/gone',
        'removed /srv/t/gone/file',
        'added /srv/t/hard',
        'changed /srv/t/kind type mode sizeBytes',
        'changed /srv/t/link target',
        'changed /srv/t/mode mode',
        'removed /srv/t/moved',
        'removed /srv/t/moved/in',
        'changed /srv/t/owner uid gid',
      ];
      expect(below(await diff({ snapshot: before }, { instance: source.id }), '/srv/t')).toEqual(expected);
      const after = toId();
      await source.snapshot({ id: after, memory: false });
      expect(below(await diff({ snapshot: before }, { snapshot: after }), '/srv/t')).toEqual(expected);
      expect(await diff({ snapshot: after }, { snapshot: after })).toEqual([]);
      const back = below(await diff({ snapshot: after }, { snapshot: before }), '/srv/t');
      const swap = { added: 'removed', removed: 'added' } as Record<string, string>;
      expect(back.map((line) => line.replace(/^\w+/, (word) => swap[word] ?? word))).toEqual(expected);
      await source.pause({ memory: false });
      expect(below(await diff({ snapshot: before }, { instance: source.id }), '/srv/t')).toEqual(expected);
      const copy = await host.create({ snapshot: after });
      expect(below(await diff({ snapshot: after }, { instance: copy.id }), '/srv')).toEqual([]);
    });

    it('compares files that hide the image, and reports nothing whose content is unchanged', async () => {
      const { rootfs } = host.spec() as { rootfs: string };
      const instance = await host.create();
      const first = await diff({ rootfs }, { instance: instance.id });
      expect(first.map(({ path }) => path).filter((path) => !path.startsWith('/etc/'))).toEqual([]);
      const script = `cd /usr/share && ls > /tmp/names && rm -r doc && mkdir doc && cp -a /etc/debian_version /tmp/v
        rm -r /usr/share/common-licenses; touch /usr/share/base-files/info.dir; mv /usr/share/pixmaps /usr/share/p 2>/dev/null
        cat /etc/debian_version > /tmp/c; cat /tmp/c > /etc/debian_version; setfattr -n user.a -v 1 /tmp/c 2>/dev/null; true`;
      await runInside(instance, script);
      const lines = below(await diff({ rootfs }, { instance: instance.id }), '/usr/share');
      expect(lines).toContain('removed /usr/share/common-licenses');
      expect(
        lines.filter((line) => line.startsWith('removed /usr/share/common-licenses/')).length,
      ).toBeGreaterThan(3);
      expect(lines.filter((line) => line.includes('share/base-files'))).toEqual([]);
      const all = await diff({ rootfs }, { instance: instance.id });
      // Taken from the image and written with the same bytes.
      expect(all.filter(({ path }) => path === '/etc/debian_version')).toEqual([]);
      expect(below(all, '/tmp').toSorted()).toEqual(['added /tmp/c', 'added /tmp/names', 'added /tmp/v']);
    });

    it('accepts names of any bytes, and waits for no pipe', async () => {
      const source = await host.create();
      const before = toId();
      await source.snapshot({ id: before, memory: false });
      await runInside(source, `cd /srv && printf x > "$(printf 'a\\377b')" && mkfifo "$(printf 'p\\nq')"`);
      expect(below(await diff({ snapshot: before }, { instance: source.id }), '/srv')).toEqual([
        'added /srv/a\udcffb',
        ...(host.traits.keepsPipes ? ['added /srv/p\nq'] : []),
      ]);
    });

    it('rejects for unknown ids and for different images', async () => {
      const instance = await host.create();
      await expect(diff({ snapshot: 'none' }, { instance: instance.id })).rejects.toMatchObject({
        code: 'not_found',
      });
      await expect(diff({ instance: 'none' }, { rootfs: '/' })).rejects.toMatchObject({ code: 'not_found' });
      await expect(diff({ rootfs: '/' }, { instance: instance.id })).rejects.toMatchObject({
        code: 'unsupported',
      });
    });
  });
};
