import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../kernel/run-command.ts';
import type { Difference } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { makeFileSystemImage } from '../../file-system-image.ts';
import { createOci } from '../oci.ts';
import { removeRemains } from '../remains/remains.ts';
import { useOci } from '../testing/oci-fixture.ts';

const oci = useOci({ name: 'imageroot' });
const { base, create, dataDir, reopen, toId } = oci;
let image: string;

/** A file system with this tree in its folder `rootfs`: a shell of busybox, and a file of another owner. */
const makeImage = async (path: string): Promise<string> => {
  const folder = `${path}.tree`;
  for (const name of ['bin', 'etc', 'proc', 'dev', 'sys', 'run', 'tmp', 'srv'])
    mkdirSync(join(folder, 'rootfs', name), { recursive: true });
  const root = join(folder, 'rootfs');
  await runCommand({ file: 'cp', args: ['/bin/busybox', join(root, 'bin/busybox')] });
  for (const applet of ['sh', 'cat', 'stat', 'id']) symlinkSync('busybox', join(root, 'bin', applet));
  writeFileSync(join(root, 'srv/of-user'), 'from the image\n');
  chmodSync(join(root, 'srv/of-user'), 0o640);
  await runCommand({ file: 'chown', args: ['1000:1000', join(root, 'srv/of-user')] });
  await makeFileSystemImage({ folder, path });
  rmSync(folder, { recursive: true });
  return path;
};

const listMounts = async (): Promise<string[]> =>
  (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${dataDir}/run/image-`));

const countLoops = (): number =>
  readdirSync('/sys/block').filter((name) => name.startsWith('loop') && readBackingFile(name) === image)
    .length;

const readBackingFile = (name: string): string => {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return ''; // The device is free.
  }
};

beforeAll(async () => {
  mkdirSync(base, { recursive: true });
  image = await makeImage(join(base, 'image.ext4'));
});

describe('an image that is a file', () => {
  it('is mounted once for all its sandboxes, with their owners, and unmounted after the last', async () => {
    const sandboxes = [await create({ rootfs: image }), await create({ rootfs: image })];
    for (const instance of sandboxes) {
      const { output } = await runInside(instance, 'cat /srv/of-user; stat -c "%u %a" /srv/of-user');
      expect(output).toBe('from the image\n1000 640\n');
    }
    expect(await listMounts()).toHaveLength(1);
    expect(countLoops()).toBe(1);
    for (const instance of sandboxes) await instance.stop();
    await expect.poll(listMounts).toEqual([]);
    await expect.poll(countLoops).toBe(0);
  });

  it('stays untouched by what a sandbox writes, which a pause and a snapshot keep', async () => {
    const first = await create({ rootfs: image });
    await runInside(first, 'echo mine > /srv/of-user; echo new > /srv/new');
    await first.pause({ memory: false });
    await first.resume();
    expect((await runInside(first, 'cat /srv/of-user /srv/new')).output).toBe('mine\nnew\n');
    const id = toId();
    await first.snapshot({ id, memory: false });
    const copy = await create({ snapshot: id });
    expect((await runInside(copy, 'cat /srv/of-user')).output).toBe('mine\n');
    const other = await create({ rootfs: image });
    expect((await runInside(other, 'cat /srv/of-user')).output).toBe('from the image\n');
  });

  it('is compared with the files of a sandbox that began with it', async () => {
    const instance = await create({ rootfs: image });
    await runInside(instance, 'echo more >> /srv/of-user');
    const found: Difference[] = [];
    for await (const difference of oci.runtime.snapshots.diff({ rootfs: image }, { instance: instance.id }))
      found.push(difference);
    expect(found.filter(({ path }) => path.startsWith('/srv'))).toEqual([
      { path: '/srv/of-user', change: 'changed', fields: ['sizeBytes'] },
    ]);
  });

  it('is found mounted by the next process, and unmounted by it after the last sandbox', async () => {
    const instance = await create({ rootfs: image });
    const before = await listMounts();
    await reopen();
    const next = await create({ rootfs: image });
    expect(await listMounts()).toEqual(before);
    expect(countLoops()).toBe(1);
    await (await oci.runtime.get(instance.id)).stop();
    await next.stop();
    await expect.poll(listMounts).toEqual([]);
  });

  it('is unmounted by the next process when a killed one has left it without sandboxes', async () => {
    const instance = await create({ rootfs: image });
    const [target = ''] = await listMounts();
    await instance.stop();
    // The first process would keep it for some seconds.
    expect(await listMounts()).toEqual([target]);
    const next = createOci({ dataDir, agentDir: oci.agentDir });
    await expect.poll(listMounts, { timeout: 3_000 }).toEqual([]);
    await next.close();
  });

  it('is unmounted with the sandboxes when no driver can run', async () => {
    await create({ rootfs: image });
    await oci.runtime.close();
    const { problems } = await removeRemains({ dataDir });
    expect(problems).toEqual([]);
    expect(await listMounts()).toEqual([]);
    await reopen();
  });

  it('is refused when it is missing, is no file system, or has no tree, with nothing left', async () => {
    await expect(create({ rootfs: join(base, 'none.ext4') })).rejects.toMatchObject({ code: 'internal' });
    const noise = join(base, 'noise.ext4');
    await writeFile(noise, Buffer.alloc(1 << 20, 7));
    await expect(create({ rootfs: noise })).rejects.toMatchObject({ code: 'internal' });
    const empty = join(base, 'empty.ext4');
    await runCommand({ file: 'mkfs.ext4', args: ['-q', '-F', '-b', '4096', empty, '8M'] });
    await expect(create({ rootfs: empty })).rejects.toMatchObject({ code: 'internal' });
    expect(await listMounts()).toEqual([]);
  });

  it('is missed by a paused sandbox, which resumes when the image is back', async () => {
    const instance = await create({ rootfs: image });
    await instance.pause({ memory: false });
    await rename(image, `${image}.away`);
    try {
      await expect(instance.resume()).rejects.toMatchObject({ code: 'internal' });
    } finally {
      await rename(`${image}.away`, image);
    }
    await instance.resume();
    expect((await runInside(instance, 'cat /srv/of-user')).output).toBe('from the image\n');
  });
});
