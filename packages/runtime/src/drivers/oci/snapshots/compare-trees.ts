import { randomUUID } from 'node:crypto';
import { RuntimeError } from '../../../error.ts';
import type { Difference, TreeOrigin } from '../../../runtime.ts';
import { isMountPoint } from '../disk/disk.ts';
import { withDiskView } from '../disk/disk-view.ts';
import { toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { readRecord } from '../record.ts';
import { diffTrees, type Tree } from './diff-trees.ts';
import { collectLayer } from './manifest.ts';
import { readLayer } from './read-tree.ts';

/** `Snapshots.diff` of this driver. */
export async function* compareTrees(
  host: OciHost,
  { from, to, signal }: { from: TreeOrigin; to: TreeOrigin; signal: AbortSignal | undefined },
): AsyncGenerator<Difference> {
  if (!host.capturesDisks) throw new RuntimeError('unsupported', 'this host cannot compare files');
  const user = `diff-${randomUUID()}`;
  const open = async (origin: TreeOrigin): Promise<Tree> => {
    const tree = await openTree(host, origin, signal);
    return { ...tree, rootfs: await host.roots.open(tree.rootfs, user) };
  };
  try {
    signal?.throwIfAborted();
    yield* diffTrees(await open(from), await open(to), { signal });
  } catch (error) {
    if (!signal?.aborted) throw error;
    throw new RuntimeError('unavailable', 'the comparison was aborted', { cause: error });
  } finally {
    host.roots.release(user);
  }
}

const openTree = async (
  host: OciHost,
  origin: TreeOrigin,
  signal: AbortSignal | undefined,
): Promise<Tree> => {
  if ('rootfs' in origin) return { rootfs: origin.rootfs, layer: new Map() };
  if ('snapshot' in origin) return host.snapshots.tree(origin.snapshot);
  const folder = toSandboxFolder(host.dataDir, origin.instance);
  const record = await readRecord(folder.record);
  if (record === undefined) throw new RuntimeError('not_found', `no sandbox ${origin.instance}`);
  const { rootfs } = record.spec;
  const { image, disk } = folder;
  if (isMountPoint(disk)) {
    const baseId = host.toBaseId(record.slot);
    return { rootfs, layer: await collectLayer(readLayer(`${disk}/upper`, { baseId, signal })) };
  }
  // Read the disk of a paused sandbox through a view of its image.
  const layer = await withDiskView({ image, scratchDir: `${host.dataDir}/run` }, (view) =>
    collectLayer(readLayer(`${view}/upper`, { baseId: record.diskBaseId, signal })),
  );
  return { rootfs, layer };
};
