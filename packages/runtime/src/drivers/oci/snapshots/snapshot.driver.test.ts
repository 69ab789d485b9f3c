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
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { Runtime } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { findTraces } from '../../../suite/traces.ts';
import { toSnapshotFolder } from '../folder.ts';
import { createOci } from '../oci.ts';
import { killProgram } from '../testing/kill-program.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { seededMoments } from '../testing/seeded-moments.ts';

const program = fileURLToPath(new URL('../testing/snapshot-endlessly.ts', import.meta.url));
const MIB = 2 ** 20;

const oci = useOci({ name: 'snapshot' });
const { base, create, dataDir, reopen, settings, toId } = oci;

const listSnapshots = async (from: Runtime = oci.runtime): Promise<string[]> => {
  const found: string[] = [];
  for await (const { id } of from.snapshots.list()) found.push(id);
  return found.sort();
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

/** With a runtime whose data folder holds 20 MB. */
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

describe('the OCI driver when it is killed while it makes, uses and deletes snapshots', () => {
  const readTurns = (said: string, word: string): number[] =>
    [...said.matchAll(new RegExp(`^${word} (\\d+)$`, 'gm'))].map(([, turn]) => Number(turn));

  const isCapturing = async (said: () => string): Promise<boolean> => {
    const told = new Set(readTurns(said(), 'kept'));
    const names = await readdir(join(dataDir, 'snapshots'));
    return names.some((name) => !told.has(Number(name.split('s').at(-1))));
  };

  it('loses no acknowledged snapshot, leaves no incomplete one, and its sandbox keeps running', async () => {
    await oci.runtime.close();
    const cut = { capture: 0, other: 0 };
    const moment = seededMoments();
    for (let round = 0; round < 10; round++) {
      const id = toId();
      const said = await killProgram({
        program,
        argv: [dataDir, oci.agentDir, oci.rootfs, id],
        // Moments of each kind are certain, or nearly so, and the rest are random.
        moment: async (saidSoFar) => {
          const options = { timeout: 60_000, interval: 1 };
          if (round % 5 === 0) await vi.waitUntil(() => saidSoFar().includes('kept'), options);
          else if (round % 5 === 1) await vi.waitUntil(() => isCapturing(saidSoFar), options);
          else await sleep(moment(700));
        },
      });
      const [kept, deleted] = [readTurns(said, 'kept'), readTurns(said, 'deleted')];
      const folders = (await readdir(join(dataDir, 'snapshots'))).length;
      const next = createOci({ dataDir, agentDir: oci.agentDir });
      const found = await listSnapshots(next);
      if (folders > found.length) cut.capture += 1;
      else cut.other += 1;
      expect(await readdir(join(dataDir, 'snapshots'))).toHaveLength(found.length);
      const last = kept.at(-1) ?? 0;
      // The one that was being deleted may exist or not, and so may one whose end was not reported any more.
      const certain = kept.filter(
        (turn) => turn > (deleted.at(-1) ?? 0) && (turn === last || last - turn > 1),
      );
      expect(found).toEqual(expect.arrayContaining(certain.map((turn) => `${id}s${turn}`)));
      for (const snapshot of found) expect(await next.snapshots.verify(snapshot)).toEqual([]);
      const source = await next.get(id);
      expect(await source.state()).toBe('running');
      expect((await runInside(source, 'echo on')).output).toBe('on\n');
      if (last > 0) {
        const copy = await next.create({ id: toId(), ...settings, snapshot: `${id}s${last}` });
        const check = `ls /root | grep -c '^[0-9]'; tail -n 1 /root/last`;
        expect((await runInside(copy, check)).output).toBe(`${last}\n${last * 500}\n`);
      }
      for await (const instance of next.list()) await instance.stop();
      for (const snapshot of await listSnapshots(next)) await next.snapshots.delete(snapshot);
      await next.close();
      await expect.poll(() => findTraces({ dataDir, ids: [id] })).toEqual([]);
    }
    await reopen();
    expect(Math.min(cut.capture, cut.other), JSON.stringify(cut)).toBeGreaterThan(0);
  });
});
