import {
  copyFile,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { Runtime } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { toSnapshotFolder } from '../folder.ts';
import { createOci } from '../oci.ts';
import { useOci } from '../testing/oci-fixture.ts';

const MIB = 2 ** 20;

const oci = useOci({ name: 'snapshot' });
const { base, create, dataDir, reopen, settings, toId } = oci;

const listSnapshots = async (): Promise<string[]> => {
  const found: string[] = [];
  for await (const { id } of oci.runtime.snapshots.list()) found.push(id);
  return found;
};

/** A snapshot of a sandbox with a file of its own, which has been removed. */
const makeSnapshot = async (): Promise<{ id: string; image: string }> => {
  const source = await create();
  await runInside(source, 'seq 100000 > /root/file');
  const id = toId();
  await source.snapshot({ id, memory: false });
  await source.stop();
  return { id, image: toSnapshotFolder(dataDir, id).image };
};

/** Changes one byte in the middle of the image's data, and restores its modification time. */
const flipByte = async (image: string): Promise<void> => {
  const { atime, mtime } = await stat(image);
  await using file = await open(image, 'r+');
  const bytes = Buffer.alloc(4096);
  for (let offset = 0; ; offset += bytes.length) {
    await file.read(bytes, 0, bytes.length, offset);
    if (!bytes.includes('\n50000\n')) continue;
    await file.write(Buffer.of((bytes[0] ?? 0) ^ 1), 0, 1, offset);
    break;
  }
  await utimes(image, atime, mtime);
};

const unreadable = /^not all of its files can be read: E/;

describe('a snapshot that the OCI driver has made', () => {
  it.each<[string, RegExp, RegExp, (image: string) => Promise<void>]>([
    ['was cut off', /has 10485760 bytes/, unreadable, (image) => truncate(image, 10 * MIB)],
    [
      'has one other byte, and its time restored',
      /the hash of its disk/,
      /^\/root\/file has changed/,
      flipByte,
    ],
    ['is gone', /cannot be read/, unreadable, (image) => rm(image)],
    ['was emptied', /has 0 bytes/, unreadable, (image) => writeFile(image, '')],
  ])('is rejected, with the files in question, when its disk %s', async (_what, reason, files, damage) => {
    const { id, image } = await makeSnapshot();
    await damage(image);
    await reopen();
    await expect(create({ snapshot: id })).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(reason),
    });
    expect(await oci.runtime.snapshots.verify(id)).toEqual([
      expect.stringMatching(reason),
      expect.stringMatching(files),
    ]);
    expect(await listSnapshots()).toEqual([id]);
  });

  it('starts others when its hostname and hosts were removed inside, and these stay removed', async () => {
    const source = await create();
    await runInside(source, 'rm /etc/hostname /etc/hosts');
    const id = toId();
    await source.snapshot({ id, memory: false });
    const copy = await create({ snapshot: id }, 'other');
    const { output } = await runInside(copy, 'hostname; ls /etc/hostname /etc/hosts 2>/dev/null');
    expect(output).toBe('other\n');
  });

  it('is accepted after it was copied to another disk and back, with its holes filled', async () => {
    const { id, image } = await makeSnapshot();
    await copyFile(image, `${base}/away`);
    await rename(`${base}/away`, image);
    // A plain copy has every block.
    const { size, blocks } = await stat(image);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    await reopen();
    expect(await oci.runtime.snapshots.verify(id)).toEqual([]);
    const copy = await create({ snapshot: id });
    expect((await runInside(copy, 'tail -n 1 /root/file')).output).toBe('100000\n');
  });

  it('takes the space of its data, not that of its size', async () => {
    const { image } = await makeSnapshot();
    const { size, blocks } = await stat(image);
    expect(size).toBe(64 * MIB);
    expect(blocks * 512).toBeGreaterThan(0);
    expect(blocks * 512).toBeLessThan(16 * MIB);
  });

  it('is refused for a paused sandbox whose disk was changed', async () => {
    const source = await create();
    await source.pause({ memory: false });
    await utimes(join(dataDir, 'sandboxes', source.id, 'disk.ext4'), 1, 1);
    await expect(source.snapshot({ id: toId(), memory: false })).rejects.toMatchObject({ code: 'damaged' });
    expect(await listSnapshots()).toEqual([]);
  });

  it('leaves nothing, and its sandbox running, when the disk of the host is full', async () => {
    await onSmallDisk(async (other, folder) => {
      const source = await other.create({ id: toId(), rootfs: oci.rootfs, ...settings });
      const write =
        'head -c 12000000 /dev/urandom > /root/file; setsid sleep 1234 >/dev/null 2>&1 </dev/null &';
      await runInside(source, write);
      const before = await runInside(source, 'md5sum /root/file');
      const failed = source.snapshot({ id: toId(), memory: false });
      await expect(failed).rejects.toMatchObject({ code: 'exhausted' });
      expect(await readdir(join(folder, 'snapshots'))).toEqual([]);
      expect(await source.state()).toBe('running');
      expect(await runInside(source, 'md5sum /root/file')).toEqual(before);
      expect((await runInside(source, 'cat /proc/[0-9]*/cmdline')).output).toContain('1234');
      await source.stop();
    });
  });

  it('stays complete when there is no room for a sandbox of it, which leaves nothing', async () => {
    await onSmallDisk(async (other, folder) => {
      const source = await other.create({ id: toId(), rootfs: oci.rootfs, ...settings });
      await runInside(source, 'head -c 8000000 /dev/urandom > /root/file');
      const before = await runInside(source, 'md5sum /root/file');
      const snapshot = toId();
      await source.snapshot({ id: snapshot, memory: false });
      const failed = other.create({ id: toId(), snapshot, ...settings });
      await expect(failed).rejects.toMatchObject({ code: 'exhausted' });
      expect(await readdir(join(folder, 'sandboxes'))).toEqual([source.id]);
      expect(await other.snapshots.verify(snapshot)).toEqual([]);
      await source.stop();
      const copy = await other.create({ id: toId(), snapshot, ...settings });
      expect(await runInside(copy, 'md5sum /root/file')).toEqual(before);
      await copy.stop();
    });
  });
});

/** Calls `work` with a runtime whose data folder holds 20 MB. */
const onSmallDisk = async (work: (other: Runtime, folder: string) => Promise<void>): Promise<void> => {
  const small = join(base, 'small');
  await mkdir(small, { recursive: true });
  mount({ source: 'none', target: small, type: 'tmpfs', flags: 0, data: 'size=20m' });
  const other = createOci({ dataDir: small, agentDir: oci.agentDir });
  try {
    await work(other, small);
  } finally {
    await other.close();
    unmountEvery(small);
  }
};
