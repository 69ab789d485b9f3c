import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import { isInstanceId } from '../../../instance-id.ts';
import { withFolderLock } from '../../../kernel/file-lock.ts';
import { findProgram } from '../../../kernel/find-program.ts';
import { hasInterface } from '../../../kernel/network-namespace.ts';
import { removeTree } from '../../../kernel/remove-tree.ts';
import { runCommand } from '../../../kernel/run-command.ts';
import { removeHostNetwork } from '../../../network/host.ts';
import { hostInterface } from '../../../network/rules.ts';
import { listSlots, type ReservedSlot, releaseSlot } from '../../../network/slots.ts';
import { openCgroup, readCgroupLayout, readDelegatedLayout, removeCgroupParent } from '../cgroup/cgroup.ts';
import { toCgroupParent } from '../cgroup/cgroup-parent.ts';
import { openProcessGroup } from '../container/process-group.ts';
import { toSandboxesDir, toSandboxFolder, toSnapshotsDir } from '../folder.ts';
import type { RootlessOptions } from '../host-backend.ts';
import { detachLoops, findMounts, unmountBelow } from './remaining-mounts.ts';
import { endRemaining } from './remaining-processes.ts';

export interface Remains {
  /** The number of sandboxes of which something was left. */
  sandboxes: number;
  /** What was removed, one sentence each; empty when nothing was left. */
  done: string[];
  /** What could not be removed and how to solve that, one sentence each. A further call continues from there. */
  problems: string[];
}

/**
 * Removes all sandboxes of a data folder without a driver, by their records and the state of the kernel: processes,
 * mounts, loop devices, cgroups, interfaces, slots, folders and, where no other server of this host needs it, the table
 * of nftables. Snapshots stay. Does nothing where nothing is left. Removes nothing while a process of a sandbox does
 * not end: another call needs the rest to find it. No helper of the folder may be alive; waits for the lock of one for
 * a minute.
 */
export const removeRemains = async (options: {
  dataDir: string;
  stateDir?: string | undefined;
  /** Set when this process is root of an ordinary user's rootless namespace, with which network and tables end. */
  rootless?: RootlessOptions | undefined;
}): Promise<Remains> => {
  const { dataDir, stateDir, rootless } = options;
  const result: Remains = { sandboxes: 0, done: [], problems: [] };
  /** Records what was removed, or the problem; resolves with whether there was none. */
  const step = async <T>(act: () => Promise<T>, say: (result: T) => string | undefined): Promise<boolean> => {
    try {
      const said = say(await act());
      if (said !== undefined) result.done.push(said);
      return true;
    } catch (error) {
      result.problems.push((error as Error).message);
      return false;
    }
  };

  await withFolderLock(join(dataDir, 'run'), async () => {
    // The kernel's names contain no symbolic links.
    const real = realpathSync(dataDir);
    const folders = [toSandboxesDir(real), toSnapshotsDir(real), join(real, 'run')];
    const slots = await listSlots({ dataDir, stateDir });
    const groups = openGroups(dataDir, rootless);
    const ids = [
      ...new Set([...listIds(toSandboxesDir(dataDir)), ...slots.map(({ id }) => id), ...(groups?.ids ?? [])]),
    ];
    result.sandboxes = ids.length;
    const cgroups = ids.map((id) => groups?.open(id) ?? openProcessGroup(dataDir, id));
    const pipes = ids.flatMap((id) => {
      const { livenessPipe, dumpPipe } = toSandboxFolder(real, id);
      return [livenessPipe, dumpPipe];
    });

    const haveEnded = await step(
      () => endRemaining({ cgroups, pipes }),
      counted('ended', 'process', 'processes'),
    );
    // Without its folder and its network a process that is still alive could not be found again.
    if (!haveEnded) return;
    await step(() => unmountBelow(folders), counted('unmounted', 'file system', 'file systems'));
    if (rootless === undefined)
      await step(() => detachLoops(folders), counted('detached', 'loop device', 'loop devices'));
    await step(
      async () => {
        for (const cgroup of cgroups) await cgroup.remove();
        groups?.removeParent();
        return groups?.ids.length ?? 0;
      },
      counted('removed', 'cgroup', 'cgroups'),
    );
    if (rootless === undefined)
      await step(() => deleteLinks(slots), counted('removed', 'network interface', 'network interfaces'));
    await step(
      () => removeFolders(dataDir, { ids, mounts: findMounts(folders) }),
      counted('removed', 'folder', 'folders'),
    );
    // A released slot may be reserved for another sandbox at once, with the addresses and ids of the one before.
    if (result.problems.length === 0)
      await step(() => releaseSlots(slots, stateDir), counted('gave back', 'slot', 'slots'));
    if (rootless === undefined)
      await step(
        async () => {
          let isDeleted = false;
          const run = async (text: string): Promise<string> => {
            const output = await runNft(text, []);
            isDeleted = true;
            return output;
          };
          await removeHostNetwork({ stateDir, filter: { run, list: (text) => runNft(text, ['--handle']) } });
          return isDeleted;
        },
        (isDeleted) => (isDeleted ? 'deleted the table inet skerry of nftables' : undefined),
      );
  });
  return result;
};

/**
 * Whether something of a sandbox may be left, by its folder or its slot. A helper that still runs can change the answer: what it makes
 * meanwhile is left to `removeRemains`.
 */
export const hasSandboxes = async ({
  dataDir,
  stateDir,
}: {
  dataDir: string;
  stateDir?: string | undefined;
}): Promise<boolean> =>
  listIds(toSandboxesDir(dataDir)).length > 0 || (await listSlots({ dataDir, stateDir })).length > 0;

const counted =
  (did: string, one: string, more: string) =>
  (count: number): string | undefined =>
    count === 0 ? undefined : `${did} ${count} ${count === 1 ? one : more}`;

/** Undefined where sandboxes have none. */
const openGroups = (dataDir: string, rootless: RootlessOptions | undefined) => {
  if (rootless !== undefined && rootless.cgroupFolder === undefined) return undefined;
  const layout =
    rootless?.cgroupFolder === undefined ? readCgroupLayout() : readDelegatedLayout(rootless.cgroupFolder);
  const parent = toCgroupParent(dataDir);
  return {
    ids: [...new Set(layout.trees.flatMap((tree) => listIds(`${tree}/${parent}`)))],
    open: (id: string) => openCgroup(layout, parent, id),
    removeParent: () => removeCgroupParent(layout, parent),
  };
};

const listIds = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() && isInstanceId(entry.name) ? [entry.name] : [],
      )
    : [];

/** The host's ends; the other ends disappeared with the network namespaces of the sandboxes. */
const deleteLinks = async (slots: readonly ReservedSlot[]): Promise<number> => {
  const links = slots.map(({ slot }) => hostInterface(slot)).filter(hasInterface);
  for (const link of links) {
    await runCommand({ file: 'ip', args: ['link', 'delete', 'dev', link] }).catch((error: unknown) => {
      // The kernel also removes it, a moment after the last process of its sandbox.
      if (hasInterface(link)) throw error;
    });
  }
  return links.length;
};

/** Refuses while something is mounted in one: the removal could delete files of the host. */
const removeFolders = async (
  dataDir: string,
  { ids, mounts }: { ids: readonly string[]; mounts: readonly string[] },
): Promise<number> => {
  if (mounts.length > 0)
    throw new RuntimeError(
      'internal',
      `folders stay, as there are mounts in them: unmount ${mounts.join(', ')}`,
    );
  const paths = ids.map((id) => toSandboxFolder(dataDir, id).path).filter((path) => existsSync(path));
  for (const path of paths) await removeTree(path);
  return paths.length;
};

const releaseSlots = async (
  slots: readonly ReservedSlot[],
  stateDir: string | undefined,
): Promise<number> => {
  for (const slot of slots) await releaseSlot({ ...slot, stateDir });
  return slots.length;
};

const runNft = async (text: string, options: readonly string[]): Promise<string> => {
  if (findProgram('nft') === undefined)
    throw new RuntimeError(
      'unsupported',
      'the table inet skerry of nftables may be left, which only the program nft can delete here: run "apt-get install -y nftables", then "skerry down" again',
    );
  return runCommand({ file: 'nft', args: [...options, '--file', '-'], input: text });
};
