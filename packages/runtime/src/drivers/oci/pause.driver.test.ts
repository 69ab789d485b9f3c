import { copyFile, mkdir, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../runtime.ts';
import { runInside } from '../../suite/client.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { useOci } from './testing/oci-fixture.ts';

const MIB = 2 ** 20;

const oci = useOci({ name: 'pause', ownSlots: true });
const { base, create, dataDir, stateDir } = oci;

/** The sandbox as the next process finds it. */
const reopen = async (id: string): Promise<Instance> => {
  await oci.reopen();
  return oci.runtime.get(id);
};

const toFolder = ({ id }: Instance): SandboxFolder => toSandboxFolder(dataDir, id);

const recordOf = async (instance: Instance): Promise<SandboxRecord> => {
  const record = await readRecord(toFolder(instance).record);
  if (record === undefined) throw new Error('no record');
  return record;
};

describe('a sandbox that the OCI driver has paused', () => {
  it('is resumed after a reboot, with its owners, when another sandbox has its slot', async () => {
    const made = await create();
    const { id } = made;
    const look = 'cd /srv; stat -c "%n %u:%g %a" *; cat file; id -u';
    await runInside(
      made,
      'cd /srv; echo kept > file; chown 1000:1001 file; mkdir -m 700 dir; chown 1000 dir',
    );
    const before = await runInside(made, look);
    const first = (await recordOf(made)).slot;
    await made.pause({ memory: false });
    // /run is empty after a reboot.
    await rm(stateDir, { recursive: true, force: true });
    await mkdir(join(stateDir, 'slots'), { recursive: true });
    await symlink(`other ${stateDir}`, join(stateDir, 'slots', String(first)));
    const found = await reopen(id);
    await found.resume();
    expect((await recordOf(found)).slot).not.toBe(first);
    expect(await runInside(found, look)).toEqual(before);
    expect((await runInside(found, 'echo x > /srv/dir/x', { uid: 1000 })).code).toBe(0);
    expect((await runInside(found, 'echo x > /srv/dir/y', { uid: 1001 })).code).not.toBe(0);
    await runInside(found, 'touch /srv/new');
    // Again from another slot: the disk still belongs to the ids of the first.
    await found.pause({ memory: false });
    await rm(join(stateDir, 'slots', String(first)));
    await found.resume();
    expect((await runInside(found, 'stat -c "%n %u:%g" /srv/new /srv/dir/x /srv/file')).output).toBe(
      '/srv/new 0:0\n/srv/dir/x 1000:1000\n/srv/file 1000:1001\n',
    );
  });

  it.each<[string, string, (image: string) => Promise<void>]>([
    ['was cut off', 'sizeBytes', (image) => truncate(image, 10 * MIB)],
    ['was touched', 'modifiedNs', (image) => utimes(image, 1, 1)],
    [
      'was written to, and its times put back',
      'headSha256',
      async (image) => {
        const { atime, mtime } = await stat(image);
        await writeFile(image, Buffer.alloc(2048, 1), { flag: 'r+' });
        await utimes(image, atime, mtime);
      },
    ],
    ['is gone', 'cannot be read', (image) => rm(image)],
  ])('is not resumed when its disk %s, and is still there', async (_what, reason, damage) => {
    const instance = await create();
    await runInside(instance, 'echo kept > /root/file');
    await instance.pause({ memory: false });
    const { image } = toFolder(instance);
    const record = await recordOf(instance);
    // A hard link keeps the image while the original is damaged.
    await copyFile(image, `${base}/copy`);
    await damage(image);
    const error = await instance.resume().catch((reason_: Error) => reason_);
    expect(error).toMatchObject({ code: 'internal' });
    expect(String((error as Error).message)).toMatch(
      reason === 'headSha256' ? /headSha256|modifiedNs/ : reason,
    );
    expect(await instance.state()).toBe('paused');
    expect(await recordOf(instance)).toEqual(record);
    // Restore the original bytes and modification time: the sandbox can be resumed then.
    await rename(`${base}/copy`, image);
    await writeRecord(toFolder(instance).record, {
      ...record,
      ...(record.kept && {
        kept: { ...record.kept, modifiedNs: String((await stat(image, { bigint: true })).mtimeNs) },
      }),
    });
    const found = await reopen(instance.id);
    await found.resume();
    expect((await runInside(found, 'cat /root/file')).output).toBe('kept\n');
  });

  it('is not resumed without its image, and is still there', async () => {
    const own = join(base, 'own-rootfs');
    await symlink(oci.rootfs, own);
    const instance = await create({ rootfs: own });
    await runInside(instance, 'echo kept > /root/file');
    await instance.pause({ memory: false });
    await rm(own);
    await expect(instance.resume()).rejects.toMatchObject({ code: 'internal' });
    expect(await instance.state()).toBe('paused');
    await symlink(oci.rootfs, own);
    await instance.resume();
    expect((await runInside(instance, 'cat /root/file')).output).toBe('kept\n');
    await rm(own);
  });

  it('keeps running when the pause fails before its processes have ended', async () => {
    const instance = await create();
    await runInside(instance, 'echo kept > /root/file; setsid sleep 1234 >/dev/null 2>&1 </dev/null &');
    const { runId } = instance;
    // The path of the next version of the record.
    await mkdir(`${toFolder(instance).record}.next`);
    await expect(instance.pause({ memory: false })).rejects.toMatchObject({ code: 'internal' });
    expect(await instance.state()).toBe('running');
    expect(instance.runId).toBe(runId);
    expect((await runInside(instance, 'cat /root/file /proc/[0-9]*/cmdline')).output).toMatch(
      /kept\n(.|\n)*1234/,
    );
    await rm(`${toFolder(instance).record}.next`, { recursive: true });
    await instance.pause({ memory: false });
    expect(await instance.state()).toBe('paused');
  });

  it('is paused again when its next run cannot start', async () => {
    const instance = await create();
    await runInside(instance, 'echo kept > /root/file');
    await instance.pause({ memory: false });
    await oci.reopen({ command: ['/bin/false'] });
    const broken = await oci.runtime.get(instance.id);
    await expect(broken.resume()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await broken.state()).toBe('paused');
    const found = await reopen(instance.id);
    await found.resume();
    expect((await runInside(found, 'cat /root/file')).output).toBe('kept\n');
  });

  it('is repaired after a power cut during a pause', async () => {
    const instance = await create();
    await runInside(instance, 'seq 20000 > /root/file; sync; echo more > /root/late');
    const folder = toFolder(instance);
    // The disk as it is while mounted: what the medium holds when the power fails.
    await copyFile(folder.image, `${base}/torn`);
    await instance.pause({ memory: false });
    await rename(`${base}/torn`, folder.image);
    const { kept: _, ...record } = await recordOf(instance);
    await writeRecord(folder.record, { ...record, phase: 'pausing' });
    const found = await reopen(instance.id);
    expect(await found.state()).toBe('paused');
    await found.resume();
    expect((await runInside(found, 'tail -n 1 /root/file')).output).toBe('20000\n');
  });
});
