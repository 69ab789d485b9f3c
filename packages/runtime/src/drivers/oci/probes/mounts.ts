import { closeSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import koffi, { libc } from '../../../kernel/native.ts';
import { unmountEvery } from '../../../kernel/syscalls.ts';
import { openUserNamespace } from '../../../kernel/user-namespace.ts';
import { slotCount, toBaseUid } from '../../../network/slots.ts';
import { aptInstall, type ProbeResult, probe } from '../../../probe.ts';
import { mountRoot, prepareUpper } from '../container/overlay.ts';
import { createDiskFormatter, discardDisk, mountDisk } from '../disk/disk.ts';
import { proveBound } from './prove-bound.ts';

const diskBytes = 32 * 2 ** 20;
const baseId = toBaseUid(slotCount - 1);

/**
 * Tries the parts of a sandbox's root in `dir`: a disk of its own size, extended attributes on it, and an overlay with
 * shifted owners over a shared image. Leaves nothing mounted.
 */
export async function probeMounts(dir: string): Promise<ProbeResult[]> {
  const target = join(dir, 'disk');
  try {
    const disk = await probeDisk({ dir, target });
    // The other probes use that disk.
    if (!disk.ok) return [disk];
    return [disk, await probeAttributes(target), await probeOverlay({ dir, target })];
  } finally {
    await discardDisk(target);
  }
}

const probeDisk = (at: { dir: string; target: string }): Promise<ProbeResult> =>
  probe({ name: 'disk', needed: true, mend: aptInstall('e2fsprogs') }, async () => {
    const image = join(at.dir, 'disk.ext4');
    await createDiskFormatter(at.dir)(image, diskBytes);
    await mountDisk({ image, target: at.target });
    await proveBound(at.target, diskBytes);
    return 'a file system on a loop device is bounded';
  });

const probeAttributes = (target: string): Promise<ProbeResult> =>
  probe(
    { name: 'user xattrs', needed: false, mend: 'use a kernel built with CONFIG_EXT4_FS_XATTR' },
    async () => {
      const file = join(target, 'attributes');
      await writeFile(file, '');
      const setAttribute = libc.func('int setxattr(const char *, const char *, const void *, size_t, int)');
      if (setAttribute(file, 'user.skerry', Buffer.from('1'), 1, 0) !== 0) {
        throw new Error(`setxattr failed with error ${koffi.errno()}`);
      }
      return 'files of a sandbox take them';
    },
  );

const probeOverlay = (at: { dir: string; target: string }): Promise<ProbeResult> =>
  probe(
    { name: 'overlay', needed: true, mend: 'use Linux 5.19 or newer, with overlayfs and id-mapped mounts' },
    async () => {
      const [rootfs, root, lower] = ['image', 'root', 'lower'].map((name) => join(at.dir, name)) as [
        string,
        string,
        string,
      ];
      await mkdir(rootfs);
      await writeFile(join(rootfs, 'of-root'), 'shared');
      await Promise.all([mkdir(root), mkdir(lower)]);
      prepareUpper({ disk: at.target, baseId }, {});
      const userNamespace = await openUserNamespace(baseId);
      try {
        mountRoot({ disk: at.target, rootfs, target: root, lower, userNamespace });
        const { uid } = await stat(join(root, 'of-root'));
        if (uid !== baseId) throw new Error(`a file of root belongs to ${uid} instead of ${baseId}`);
        await writeFile(join(root, 'of-root'), 'own');
        if ((await readFile(join(rootfs, 'of-root'), 'utf8')) !== 'shared') {
          throw new Error('a sandbox can write to the shared image');
        }
      } finally {
        closeSync(userNamespace);
        unmountEvery(root);
      }
      return 'a shared image is read with the owners of a sandbox and never written to';
    },
  );
