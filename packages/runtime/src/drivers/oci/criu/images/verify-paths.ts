import { isFieldSet } from '@bufbuild/protobuf';
import { createYielder } from '../../../../concurrency/yielder.ts';
import {
  type RegularFile,
  RegularFileSchema,
  type Remap,
  Remap_Kind,
} from '../../../../gen/criu/images/images_pb.ts';
import { ObstacleError } from '../../../../obstacle.ts';
import { findHolder } from '../processes/held-files.ts';
import type { SandboxRoot } from '../processes/sandbox-root.ts';

/**
 * Verifies that a restore finds each open file, mapped file, program and working folder of the images where they say, as it
 * is in them: a later restore cannot tell any more. Rejects with an `ObstacleError` that names a process that holds
 * the first one that it would not find.
 */
export const verifyPaths = async (
  { files, remaps }: { files: readonly RegularFile[]; remaps: readonly Remap[] },
  { pids, root }: { pids: readonly number[]; root: SandboxRoot },
): Promise<void> => {
  const yielder = createYielder();
  const remapped = new Map(remaps.map((remap) => [remap.fileId, remap]));
  const linked = toTargets(remaps, Remap_Kind.LINKED);
  const ended = toTargets(remaps, Remap_Kind.PROCFS);
  for (const file of files) {
    const remap = remapped.get(file.id);
    const name = Buffer.from(file.name).toString('latin1');
    const isMade = linked.has(file.id) || ended.has(Number(/^\/proc\/(\d+)/.exec(name)?.[1]));
    const isFound = isMade || (remap ? canMake({ name, remap, root }) : isThere({ name, file, root }));
    if (!isFound) throw new ObstacleError({ kind: 'changed_path', process: await findHolder(pids, name) });
    await yielder();
  }
};

const toTargets = (remaps: readonly Remap[], kind: Remap_Kind): ReadonlySet<number> =>
  new Set(remaps.filter((remap) => remap.kind === kind).map(({ target }) => target));

const { field } = RegularFileSchema;

/** CRIU compares the size and the mode, where the image has them. */
const isThere = ({ name, file, root }: { name: string; file: RegularFile; root: SandboxRoot }): boolean => {
  // The liveness pipe is passed to the restore, and CRIU makes the terminals.
  if (!name.startsWith('/') || name.startsWith('/dev/pts/')) return true;
  const found = root.find(name);
  if (found === undefined) return false;
  const isSame = !isFieldSet(file, field.mode) || found.mode === file.mode;
  return isSame && (!isFieldSet(file, field.size) || BigInt(found.size) === file.size);
};

/** Whether the names that CRIU appends to are free. */
const canMake = ({ name, remap, root }: { name: string; remap: Remap; root: SandboxRoot }): boolean => {
  const isFree = (suffix: string): boolean => root.find(`${name}${suffix}`) === undefined;
  if (remap.kind === Remap_Kind.GHOST && !isFree(`.cr.${remap.target.toString(16)}.ghost`)) return false;
  return isFree('') || isFree('.cr_link');
};
