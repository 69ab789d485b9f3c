import { posix } from 'node:path';
import type { Instance } from '@skerry/runtime';
import { putBack, standIn } from '../../agent-commands/control-calls.ts';
import { RefusedArchiveError } from '../../agent-commands/read-refusal.ts';
import { BuildError } from '../build-error.ts';
import type { BuildLog } from '../build-log.ts';
import type { MountStep } from '../build-plan.ts';
import { expand, ofStep, type StepPosition } from '../step-position.ts';
import { asTheyAre, type CopyRunner } from '../uploads/copy-runner.ts';
import { sendArchive } from '../uploads/send-archive.ts';
import { takeArchive } from '../uploads/take-archive.ts';
import type { CacheName, MountCaches } from './mount-caches.ts';

/** The mounts of the commands of one build. */
export interface Mounter {
  /**
   * Runs a command with its mounts: files that are there while it runs. A sandbox cannot mount, so what is at a path is set aside and is
   * put back after the command. Rejects with `BuildError` of the step `name` when a mount cannot be made, and otherwise as `work`
   * does; the sandbox can then not be used any more.
   */
  during<T>(
    mounts: readonly MountStep[],
    at: { name: string; position: StepPosition; signal: AbortSignal },
    work: () => Promise<T>,
  ): Promise<T>;
}

/** A mount with its words expanded. */
type Placed = { path: string } & (
  | { mount: Exclude<MountStep, { type: 'cache' }> }
  | { mount: Extract<MountStep, { type: 'cache' }>; cache: CacheName }
);

const TMPFS_MODE = 0o1777;

export const createMounter = (
  instance: Pick<Instance, 'control'>,
  options: { caches: MountCaches | undefined; copyRunner: CopyRunner; templateId: string; log: BuildLog },
): Mounter => {
  const { caches, copyRunner, templateId, log } = options;

  const toPlaced = (mount: MountStep, position: StepPosition): Placed => {
    const toText = (text: string): string => expand(text, position, { isDockerfile: true });
    const target = toText(mount.target);
    const path = posix.resolve(position.workdir, target);
    if (mount.type === 'tmpfs') return { path, mount };
    const from =
      mount.from?.kind === 'stage' ? { ...mount.from, source: toText(mount.from.source) } : mount.from;
    if (mount.type === 'bind') return { path, mount: { ...mount, from: from as typeof mount.from } };
    const cache = { templateId, id: mount.id === undefined ? path : toText(mount.id) };
    return { path, cache, mount: { ...mount, from: from as typeof mount.from } };
  };

  const enter = async (placed: Placed, signal: AbortSignal): Promise<void> => {
    const { path, mount } = placed;
    if (mount.type === 'bind') {
      await standIn(instance, { target: path, folder: undefined }, { signal });
      await copyRunner.send(mount.from, { destination: path, signal });
      return;
    }
    const { mode, uid, gid } = mount.type === 'cache' ? mount : { mode: TMPFS_MODE, uid: 0, gid: 0 };
    await standIn(instance, { target: path, folder: { mode, uid, gid } }, { signal });
    if (!('cache' in placed)) return;
    const stored = await caches?.open(placed.cache);
    const into = { ...asTheyAre, source: '', destination: path };
    if (stored !== undefined) await sendArchive(instance, stored, into, { signal });
    else if (placed.mount.from !== undefined)
      await copyRunner.send(placed.mount.from, { destination: path, signal });
  };

  const leave = async (
    placed: Placed,
    { name, signal }: { name: string; signal: AbortSignal },
  ): Promise<void> => {
    if ('cache' in placed && !placed.mount.readOnly) await store(placed, { name, signal });
    await putBack(instance, placed.path, { signal });
  };

  /** A cache only saves time: one that cannot be stored fails nothing. */
  const store = async (
    { path, cache }: Placed & { cache: CacheName },
    { name, signal }: { name: string; signal: AbortSignal },
  ): Promise<void> => {
    try {
      const { archive } = await takeArchive(instance, path, { inside: true, signal });
      try {
        await caches?.write(cache, archive);
      } finally {
        archive.destroy();
      }
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      log.add({ level: 'warn', message: `the cache ${cache.id} is not kept: ${reason}`, step: name });
    }
  };

  const lockAll = <T>(
    names: readonly CacheName[],
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> => {
    const [first, ...rest] = names;
    if (first === undefined || caches === undefined) return work();
    return caches.alone(first, () => lockAll(rest, signal, work), signal);
  };

  return {
    during: async (mounts, { name, position, signal }, work) => {
      if (mounts.length === 0) return work();
      // A folder before what is mounted in it.
      const placed = ofStep(name, () => mounts.map((mount) => toPlaced(mount, position))).toSorted(
        (one, other) => toDepth(one.path) - toDepth(other.path),
      );
      const locked = placed.flatMap((one) => ('cache' in one && one.mount.locked ? [one.cache] : []));
      // Always in the same order: two commands that wait for each other would wait for ever.
      const inOrder = [...new Map(locked.map((cache) => [cache.id, cache])).values()].toSorted(
        (one, other) => (one.id < other.id ? -1 : 1),
      );
      return lockAll(inOrder, signal, async () => {
        try {
          for (const one of placed) await enter(one, signal);
          const result = await work();
          for (const one of placed.toReversed()) await leave(one, { name, signal });
          return result;
        } catch (error) {
          if (error instanceof RefusedArchiveError)
            throw new BuildError(name, `cannot mount: ${error.message}`, { cause: error });
          throw error;
        }
      });
    },
  };
};

const toDepth = (path: string): number => path.split('/').filter(Boolean).length;
