import { createHash } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { zstdCompressSync } from 'node:zlib';
import type { BlobStore } from '@skerry/blobs';
import { openBlobStore } from '@skerry/blobs/open';
import { beforeAll, describe, expect, it } from 'vitest';
import { removeBlobCopy } from '../../../../blob-copies/list-copies.ts';
import { toManifestKey } from '../../../../blob-copies/snapshot-copies.ts';
import type { Instance, SnapshotId } from '../../../../runtime.ts';
import { markAttack } from '../../../../suite/attack-row.ts';
import { runInside } from '../../../../suite/client.ts';
import { toSnapshotFolder } from '../../folder.ts';
import { useOci } from '../../testing/oci-fixture.ts';
import type { CopyManifest } from './copy-manifest.ts';

const oci = useOci({ name: 'stored', memory: true });
const { create, dataDir, toId } = oci;
const templateDigest = `sha256:${'a'.repeat(64)}`;

let blobs: BlobStore;
beforeAll(async () => {
  blobs = await openBlobStore({ kind: 'folder', folder: join(oci.base, 'blobs') });
});

const listKeys = async (prefix = ''): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of blobs.list(prefix)) keys.push(key);
  return keys;
};

/** A process that counts in its memory and writes the count to a file. */
const startCounter = async (instance: Instance): Promise<void> => {
  await runInside(
    instance,
    `setsid python3 -c '
import os, time
n = 0
while True:
  n += 1
  open("/root/new", "w").write("%d %d" % (os.getpid(), n))
  os.rename("/root/new", "/root/count")
  time.sleep(0.01)
' >/dev/null 2>&1 </dev/null & until [ -s /root/count ]; do sleep 0.02; done`,
  );
};
const readCounter = async (instance: Instance): Promise<{ pid: number; count: number }> => {
  const { output } = await runInside(instance, 'cat /root/count');
  const [pid = 0, count = 0] = output.split(' ').map(Number);
  return { pid, count };
};

/** Stores a snapshot of the sandbox, and removes it here. */
const sendAway = async (source: Instance, { memory }: { memory: boolean }) => {
  const id = toId();
  await source.snapshot({ id, memory });
  const copy = toId();
  const stored = await oci.runtime.snapshotCopies.write(id, { blobs, copy, templateDigest });
  const { size, blocks } = await stat(toSnapshotFolder(dataDir, id).image);
  await oci.runtime.snapshots.delete(id);
  return { id, copy, ...stored, image: { size, blocks } };
};

const fetchBack = (id: SnapshotId, copy: string, manifestSha256: string) =>
  oci.runtime.snapshotCopies.read(id, {
    ...{ blobs, copy, manifestSha256, templateDigest },
    rootfs: oci.rootfs,
  });

describe('a snapshot in a blob store', () => {
  it('has the files of a sandbox, sparse and listed, after it was removed here', async () => {
    const source = await create();
    await runInside(source, 'seq 100000 > /root/file; truncate -s 30M /root/hole');
    const { id, copy, manifestSha256, sizeBytes, image } = await sendAway(source, { memory: false });
    expect(sizeBytes).toBeGreaterThan(0);
    expect(sizeBytes).toBeLessThan(4 * 2 ** 20);
    await source.stop();
    await fetchBack(id, copy, manifestSha256);
    const found = await stat(toSnapshotFolder(dataDir, id).image);
    expect(found.size).toBe(image.size);
    expect(found.blocks).toBeLessThanOrEqual(image.blocks);
    await oci.reopen();
    expect(await oci.runtime.snapshots.verify(id)).toEqual([]);
    const begun = await create({ snapshot: id });
    expect((await runInside(begun, 'tail -n 1 /root/file; stat -c %s /root/hole')).output).toBe(
      '100000\n31457280\n',
    );
    const changes: string[] = [];
    for await (const { path } of oci.runtime.snapshots.diff({ rootfs: oci.rootfs }, { snapshot: id }))
      changes.push(path);
    expect(changes).toEqual(expect.arrayContaining(['/root/file', '/root/hole']));
    await expect(fetchBack(id, copy, manifestSha256)).rejects.toMatchObject({ code: 'already_exists' });
    await removeBlobCopy(blobs, copy);
    await removeBlobCopy(blobs, copy);
    expect(await listKeys()).toEqual([]);
    await oci.runtime.snapshots.delete(id);
    await expect(fetchBack(id, copy, manifestSha256)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('has the processes too, which go on in sandboxes made of it, under any id', async () => {
    const source = await create();
    await startCounter(source);
    const before = await readCounter(source);
    const { copy, manifestSha256 } = await sendAway(source, { memory: true });
    await source.stop();
    await oci.reopen();
    const id = toId();
    await fetchBack(id, copy, manifestSha256);
    expect(await oci.runtime.snapshots.verify(id)).toEqual([]);
    const both = await Promise.all([create({ snapshot: id }), create({ snapshot: id })]);
    for (const one of both) {
      const { pid, count } = await readCounter(one);
      expect(pid).toBe(before.pid);
      expect(count).toBeGreaterThanOrEqual(before.count);
      await expect.poll(async () => (await readCounter(one)).count).toBeGreaterThan(count);
    }
    // What was fetched can be stored again, on its way to a further host.
    const again = await oci.runtime.snapshotCopies.write(id, { blobs, copy, templateDigest });
    expect(again.sizeBytes).toBeGreaterThan(0);
    await removeBlobCopy(blobs, copy);
  });

  it('is refused with memory by a host that restores none of others, and taken with files alone', async (test) => {
    markAttack(test, {
      attack:
        'having a node restore memory that another one may have written, where the operator does not trust it',
      place: 'outside',
      stoppedBy: '--foreign-memory refuse',
    });
    const source = await create();
    const whole = await sendAway(source, { memory: true });
    const files = await sendAway(source, { memory: false });
    await source.stop();
    await oci.reopen({ foreignMemory: 'refuse' });
    await expect(fetchBack(whole.id, whole.copy, whole.manifestSha256)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('--foreign-memory refuse'),
    });
    await fetchBack(files.id, files.copy, files.manifestSha256);
    await oci.reopen();
    await fetchBack(whole.id, whole.copy, whole.manifestSha256);
    for (const { copy } of [whole, files]) await removeBlobCopy(blobs, copy);
  });

  it('is refused, and nothing of it is left here, when a part or the manifest lies', async (test) => {
    markAttack(test, {
      attack: 'changing the manifest or a part of a copy in the blob store',
      place: 'outside',
      stoppedBy: 'hashes of the manifest and of each part, and a parser that takes nothing else',
    });
    const source = await create();
    const { id, copy, manifestSha256 } = await sendAway(source, { memory: true });
    const key = toManifestKey(copy);
    const manifest = JSON.parse(await text((await blobs.get(key)).body)) as CopyManifest;
    const { memory } = manifest;
    const [first] = manifest.disk.parts;
    const [image] = memory?.files ?? [];
    if (!memory || !first || !image) throw new Error('it has no parts');

    const refused = async (code: string, message: RegExp, sha256 = manifestSha256): Promise<void> => {
      await expect(fetchBack(id, copy, sha256)).rejects.toMatchObject({
        name: 'RuntimeError',
        code,
        message: expect.stringMatching(message),
      });
      await expect(stat(toSnapshotFolder(dataDir, id).path)).rejects.toMatchObject({ code: 'ENOENT' });
    };
    const put = async (content: string): Promise<string> => {
      await blobs.put(key, Readable.from([Buffer.from(content)]));
      return createHash('sha256').update(content).digest('hex');
    };

    const lies: [string, RegExp, CopyManifest | object][] = [
      ['damaged', /: snapshot must be 1 to 40/, { ...manifest, snapshot: '../x' }],
      ['damaged', /version 2/, { ...manifest, version: 2 }],
      ['unsupported', /needs the image/, { ...manifest, templateDigest: `sha256:${'b'.repeat(64)}` }],
      ['damaged', /its disk has/, { ...manifest, disk: { ...manifest.disk, sizeBytes: 2 ** 40 } }],
      ['damaged', /hash of its disk/, { ...manifest, disk: { ...manifest.disk, sha256: 'c'.repeat(64) } }],
      [
        'damaged',
        /file system is damaged|hash of its disk/,
        { ...manifest, disk: { ...manifest.disk, parts: manifest.disk.parts.slice(1) } },
      ],
      [
        'damaged',
        /overlap/,
        { ...manifest, disk: { ...manifest.disk, parts: [first, ...manifest.disk.parts] } },
      ],
      [
        'damaged',
        /is missing/,
        { ...manifest, disk: { ...manifest.disk, parts: [{ ...first, sha256: 'd'.repeat(64) }] } },
      ],
      [
        'damaged',
        /has \d+ bytes and had/,
        {
          ...manifest,
          disk: { ...manifest.disk, parts: [{ ...first, storedBytes: first.storedBytes - 1 }] },
        },
      ],
      [
        'damaged',
        /cannot be unpacked|not what its digest says/,
        { ...manifest, disk: { ...manifest.disk, parts: [{ ...first, sizeBytes: 4096 }] } },
      ],
      [
        'damaged',
        /memory\.files\[0\]\.name must be the name of a memory image/,
        { ...manifest, memory: { ...memory, files: [{ ...image, name: '../../x.img' }] } },
      ],
      ['damaged', /one name/, { ...manifest, memory: { ...memory, files: [image, image] } }],
      [
        'damaged',
        /livenessPipeId/,
        {
          ...manifest,
          memory: { ...memory, checkpoint: { ...memory.checkpoint, livenessPipeId: 'file[1:2] --x' } },
        },
      ],
      [
        'unsupported',
        /the model of the CPU was zz and is .*; the CPU here lacks zz_new/,
        {
          ...manifest,
          memory: {
            ...memory,
            class: { ...memory.class, cpuModel: 'zz', cpuFlags: [...memory.class.cpuFlags, 'zz_new'] },
          },
        },
      ],
      [
        'unsupported',
        /the digest of the agent/,
        { ...manifest, memory: { ...memory, class: { ...memory.class, agentDigest: templateDigest } } },
      ],
      ['damaged', /owner 0/, { ...manifest, contents: { ...manifest.contents, diskBaseId: 0 } }],
    ];
    for (const [code, message, lie] of lies) await refused(code, message, await put(JSON.stringify(lie)));
    await refused('damaged', /not JSON/, await put('{'));
    await refused('damaged', /not the one that was stored/);
    await put(JSON.stringify(manifest));

    const partPath = join(oci.base, 'blobs', `snapshots+${copy}+parts+${image.parts[0]?.sha256}`);
    const part = await readFile(partPath);
    await writeFile(partPath, part.with(part.length - 1, (part.at(-1) ?? 0) ^ 1));
    await refused('damaged', /the part/);
    await writeFile(partPath, zstdCompressSync(Buffer.alloc(2 ** 26)));
    await refused('damaged', /the part/);
    await rm(partPath);
    await refused('damaged', /is missing/);
    await writeFile(partPath, part);
    const aborted = oci.runtime.snapshotCopies.read(id, {
      ...{ blobs, copy, manifestSha256, rootfs: oci.rootfs, templateDigest },
      signal: AbortSignal.abort(),
    });
    await expect(aborted).rejects.toMatchObject({ code: 'unavailable' });
    await fetchBack(id, copy, manifestSha256);
    await removeBlobCopy(blobs, copy);
  });

  it('has no manifest when the store fails in the middle, and a further call continues', async () => {
    const source = await create();
    await runInside(source, 'head -c 20000000 /dev/urandom > /root/file');
    const [id, copy] = [toId(), toId()];
    await source.snapshot({ id, memory: false });
    let puts = 0;
    const failing: BlobStore = {
      ...blobs,
      put: (key, body, options) => {
        puts += 1;
        return blobs.put(key, body, puts > 3 ? { ...options, signal: AbortSignal.abort() } : options);
      },
    };
    const failed = oci.runtime.snapshotCopies.write(id, { blobs: failing, copy, templateDigest });
    await expect(failed).rejects.toMatchObject({ code: 'unavailable' });
    const partial = await listKeys();
    expect(partial).toHaveLength(3);
    expect(partial).not.toContain(toManifestKey(copy));
    const { manifestSha256 } = await oci.runtime.snapshotCopies.write(id, { blobs, copy, templateDigest });
    await oci.runtime.snapshots.delete(id);
    await fetchBack(id, copy, manifestSha256);
    expect(await oci.runtime.snapshots.verify(id)).toEqual([]);
    await expect(
      oci.runtime.snapshotCopies.write('missing', { blobs, copy, templateDigest }),
    ).rejects.toMatchObject({ code: 'not_found' });
    await removeBlobCopy(blobs, copy);
  });

  it('cannot be stored with memory whose class was not recorded', async () => {
    const source = await create();
    const [id, copy] = [toId(), toId()];
    await source.snapshot({ id, memory: true });
    const { record } = toSnapshotFolder(dataDir, id);
    const sealed = JSON.parse(await readFile(record, 'utf8'));
    expect(sealed.memory.madeOn).toMatchObject({
      level: 'container',
      checkpointer: expect.stringMatching(/^criu \d/),
    });
    delete sealed.memory.madeOn;
    await writeFile(record, JSON.stringify(sealed));
    await expect(oci.runtime.snapshotCopies.write(id, { blobs, copy, templateDigest })).rejects.toMatchObject(
      {
        code: 'unsupported',
      },
    );
    expect(await listKeys()).toEqual([]);
    // Here it still starts.
    await create({ snapshot: id });
  });
});
