import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { runInside } from '../../suite/client.ts';
import { findMounts } from './remains/remaining-mounts.ts';
import { killProgram } from './testing/kill-program.ts';
import { useOci } from './testing/oci-fixture.ts';

const program = fileURLToPath(new URL('./testing/export-endlessly.ts', import.meta.url));

const oci = useOci({ name: 'export' });
const { base, create, dataDir, reopen } = oci;
const toPath = (): string => join(base, `image-${randomUUID()}.ext4`);

/** What a file system must keep of each entry. */
const describeTree = `cd /srv/t && find . -printf '%P %y %m %U %G %n %s %l %T@\\n' | sed 's/[.][0-9]*$//' | sort; getfattr --help >/dev/null 2>&1 && getfattr -d -R . ; cat plain new; perl -e 'print -s "holes", " ", (stat "holes")[12] * 512, "\\n"'`;

const fill = `set -e
mkdir -p /srv/t/folder && cd /srv/t
echo plain > plain && chmod 640 plain && chown 1000:1001 plain
ln plain hard && ln -s ../elsewhere soft
cp /bin/true setuid && chmod 4755 setuid
perl -e 'open F, ">holes"; truncate F, 1e9; seek F, 5e8, 0; print F "x"'
echo new > new && touch -d @12345 new`;

beforeAll(() => mkdir(base, { recursive: true }));

describe('an exported image', () => {
  it('has the files of the sandbox over those of its image, entry by entry, and a sandbox runs on it', async () => {
    const source = await create();
    await runInside(source, fill);
    await runInside(source, 'rm /etc/debian_version; rm -r /usr/share/doc; echo changed >> /etc/issue');
    const before = (await runInside(source, describeTree)).output;
    await source.pause({ memory: false });
    const path = toPath();
    const made = await source.exportImage({ path });
    expect(made.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(made.sizeBytes).toBe(statSync(path).blocks * 512);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await source.stop();

    const copy = await create({ rootfs: path });
    expect((await runInside(copy, describeTree)).output).toBe(before);
    const gone = await runInside(
      copy,
      'ls -d /etc/debian_version /usr/share/doc 2>&1 | wc -l; tail -1 /etc/issue',
    );
    expect(gone.output).toBe('2\nchanged\n');
    expect(
      (await runInside(copy, 'stat -c %u /srv/t/holes /etc/passwd; ls -A /lost+found 2>&1')).output,
    ).toMatch(/^0\n0\nls: /);
  });

  it('can be of a sandbox that began with an exported image', async () => {
    const first = await create();
    await runInside(first, 'mkdir /a && echo one > /a/f');
    await first.pause({ memory: false });
    const path = toPath();
    await first.exportImage({ path });
    const second = await create({ rootfs: path });
    await runInside(second, 'echo two > /a/g');
    await second.pause({ memory: false });
    const next = toPath();
    await second.exportImage({ path: next });
    await second.resume();
    expect((await runInside(second, 'cat /a/f /a/g')).output).toBe('one\ntwo\n');
    const third = await create({ rootfs: next });
    expect((await runInside(third, 'cat /a/f /a/g')).output).toBe('one\ntwo\n');
  });

  it('can be of a snapshot, without the processes that it has, and does not need it any more', async () => {
    const source = await create();
    await runInside(source, fill);
    const before = (await runInside(source, describeTree)).output;
    await runInside(source, 'echo kept > /tmp/file; mkdir /run/service; sleep 1000 >/dev/null 2>&1 &');
    const { snapshots, features } = oci.runtime;
    const { memory } = features.snapshot;
    await source.snapshot({ id: 'whole', memory });
    await source.snapshot({ id: 'passing', memory: false, ephemeral: true });
    await source.stop();
    const path = toPath();
    await expect(snapshots.exportImage('none', { path })).rejects.toMatchObject({ code: 'not_found' });
    await expect(snapshots.exportImage('passing', { path })).rejects.toMatchObject({ code: 'not_found' });
    await snapshots.delete('passing');
    const made = await snapshots.exportImage('whole', { path });
    expect(made).toEqual({
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      sizeBytes: statSync(path).blocks * 512,
    });
    expect(await snapshots.verify('whole')).toEqual([]);
    await snapshots.delete('whole');
    const copy = await create({ rootfs: path }, 'copy');
    expect((await runInside(copy, describeTree)).output).toBe(before);
    expect((await runInside(copy, 'cat /tmp/file; ls -d /run/service')).output).toBe('kept\n/run/service\n');
    expect((await runInside(copy, 'cat /proc/[0-9]*/cmdline')).output).not.toContain('sleep');
    expect((await runInside(copy, 'hostname; cat /etc/hostname')).output).toBe('copy\ncopy\n');
  });

  it('is refused of a running sandbox, and for an existing file, and leaves nothing', async () => {
    const source = await create();
    const path = toPath();
    await expect(source.exportImage({ path })).rejects.toMatchObject({ code: 'unavailable' });
    await source.pause({ memory: false });
    await writeFile(path, 'mine');
    await expect(source.exportImage({ path })).rejects.toMatchObject({ code: 'internal' });
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(findMounts([join(dataDir, 'run')])).toEqual([]);
  });

  it('leaves nothing when the caller aborts, and the sandbox resumes', async () => {
    const source = await create();
    await source.pause({ memory: false });
    const path = toPath();
    const signal = AbortSignal.timeout(50);
    await expect(source.exportImage({ path, signal })).rejects.toMatchObject({ code: 'unavailable' });
    expect(() => statSync(path)).toThrow();
    await source.resume();
    expect((await runInside(source, 'echo alive')).output).toBe('alive\n');
  });

  it('leaves mounts when its process is killed, which the next one removes', async () => {
    const source = await create();
    await source.pause({ memory: false });
    await oci.runtime.close();
    await killProgram({
      program,
      argv: [dataDir, oci.agentDir, source.id, toPath()],
      moment: async () => {
        await expect
          .poll(() => findMounts([join(dataDir, 'run')]).length, { interval: 5 })
          .toBeGreaterThan(1);
      },
    });
    expect(findMounts([join(dataDir, 'run')]).length).toBeGreaterThan(0);
    await reopen();
    expect(readdirSync(join(dataDir, 'run')).filter((name) => name.startsWith('export-'))).toEqual([]);
    const again = await oci.runtime.get(source.id);
    await again.resume();
    expect((await runInside(again, 'echo alive')).output).toBe('alive\n');
  });
});
