import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Limits } from '../../../runtime.ts';
import type { CgroupLayout } from './cgroup.ts';

const MIB = 2 ** 20;
const file = 'memory.kmem.tcp.limit_in_bytes';

/**
 * What the buffers of a sandbox's sockets may take in a tree of version 1, beside its memory. There the kernel counts
 * them apart, and without a limit not at all: unread data would take the memory of the host. Version 2 counts
 * them as memory.
 */
export const toSocketBytes = ({ memoryBytes }: Pick<Limits, 'memoryBytes'>): number =>
  Math.max(32 * MIB, Math.floor(memoryBytes / 8 / 4096) * 4096);

/** The setting in a group of version 1; none on a kernel that cannot limit them. */
export const toSocketSettings = (folder: string, socketBytes: number): [file: string, value: string][] =>
  existsSync(`${folder}/${file}`) ? [[file, String(socketBytes)]] : [];

/**
 * Limits the buffers of sockets of a group that an OCI runtime has made. It is to be called before programs make
 * sockets.
 */
export const limitSockets = (layout: CgroupLayout, path: string, limits: Limits): void => {
  if (layout.version === 2) return;
  const folder = `/sys/fs/cgroup/memory${path}`;
  for (const [name, value] of toSocketSettings(folder, toSocketBytes(limits)))
    writeFileSync(`${folder}/${name}`, value);
};

/**
 * Limits the buffers of sockets in the folder of a group of version 1 whose frozen processes have sockets already. Where
 * these take more than the limit of the sandbox, the limit is what they take: the kernel accepts no lower one. Throws
 * when they go on growing.
 */
export const limitRestoredSockets = (folder: string, limits: Limits): void => {
  for (let attempt = 0; ; attempt++) {
    const [[name, value] = []] = toSocketSettings(folder, toSocketBytes(limits));
    if (name === undefined) return;
    const takenBytes = Number(readFileSync(`${folder}/memory.kmem.tcp.usage_in_bytes`, 'utf8'));
    try {
      writeFileSync(`${folder}/${name}`, String(Math.max(Number(value), takenBytes)));
      return;
    } catch (error) {
      // A packet on the loopback interface arrived after the look at the usage.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || attempt === 100) throw error;
    }
  }
};

/** What bounds the buffers of sockets on this host, for its operator. */
export const describeSocketBound = ({ version }: Pick<CgroupLayout, 'version'>): string => {
  if (version === 2) return 'buffers of sockets count as memory of their sandbox';
  return existsSync(`/sys/fs/cgroup/memory/${file}`)
    ? 'buffers of sockets take at most an eighth of the memory of their sandbox, or 32 MiB, besides that'
    : 'buffers of sockets have no bound on this kernel';
};
