import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ApiError, notFound } from '@skerry/contract/error';
import { EventType, type FilesystemEventSchema } from '@skerry/envd-client/filesystem';
import { isErrno } from '../system/errno.ts';
import type { Users } from '../system/users.ts';
import { readEntryInfo } from './entry-info.ts';
import { createInotify, IN, type Inotify, type InotifyEvent } from './inotify.ts';
import { isNetworkMount, isPseudoMount } from './mount-type.ts';
import { createWatchIndex } from './watch-index.ts';

export type FilesystemEventInit = MessageInitShape<typeof FilesystemEventSchema>;

export interface WatchOptions {
  /** Absolute path of the directory; a link is followed. */
  root: string;
  recursive: boolean;
  includeEntry: boolean;
  /** Without it, network mounts below the root are left out. */
  allowNetworkMounts: boolean;
  onEvent: (event: FilesystemEventInit) => void;
  /** The last event. Without an error the directory has been moved away. */
  onEnd: (error?: Error) => void;
}

interface Watch extends WatchOptions {
  /** Entries that a scan has reported although their kernel events are still to come, by directory. */
  reported: Map<number, { horizon: number; created: Set<string>; written: Set<string> }>;
  /** Directories between the two halves of a rename. */
  moving: Map<number, NodeJS.Timeout>;
  /** Why the watch has ended by itself. */
  failure: Error | undefined;
}

/** A rename out of the tree has no second half; the wait for it ends after this time. */
const RENAME_MS = 500;
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG']);

const DIRECTORIES_PER_TURN = 64;
/** More directories than this are refused to one watch. */
const MAX_DIRECTORIES = 65_536;
/** A name that no directory can have. It stands for one whose new name is not known yet. */
const limbo = (cookie: number): string => `\0${cookie}`;

/** All watches of the agent, over one inotify instance that is opened with the first. */
export interface WatchTree {
  /** Watches from the moment it resolves; the result ends it. Rejects with the errno of inotify_add_watch(2). */
  watch(options: WatchOptions): Promise<() => void>;
}

export const createWatchTree = ({ users }: { users: Users }): WatchTree => {
  const index = createWatchIndex<Watch>();
  const watches = new Set<Watch>();
  let inotify: Inotify | undefined;

  const emit = (watch: Watch, type: EventType, path: string): void => {
    const event: FilesystemEventInit = { name: path === '' ? '.' : path, type };
    if (watch.includeEntry && type !== EventType.REMOVE && type !== EventType.RENAME) {
      try {
        event.entry = readEntryInfo(join(watch.root, path), users.names());
      } catch {
        // The file is gone: report the event without an entry.
      }
    }
    watch.onEvent(event);
  };

  const removeWatches = (wds: readonly number[]): void => {
    for (const wd of wds) inotify?.remove(wd);
  };

  const close = (watch: Watch): void => {
    if (!watches.delete(watch)) return;
    for (const timer of watch.moving.values()) clearTimeout(timer);
    removeWatches(index.remove(watch));
  };

  const end = (watch: Watch, error?: Error): void => {
    if (!watches.has(watch)) return;
    close(watch);
    watch.failure = error;
    watch.onEnd(error);
  };

  /** Adds one directory; undefined when it has vanished or is known already. */
  const addDirectory = (watch: Watch, path: string): number | undefined => {
    if (inotify === undefined) return undefined;
    const wd = inotify.add(join(watch.root, path), { followLink: path === '' });
    const known = index.pathOf(watch, wd);
    if (known === path) return undefined;
    if (known !== undefined) {
      // The directory has a newer name: its rename event is still in the queue.
      index.move(watch, known, path);
      return undefined;
    }
    index.set(watch, path, wd);
    return wd;
  };

  const isLeftOut = ({ root, allowNetworkMounts }: Watch, path: string, rootDevice?: number): boolean => {
    const absolute = join(root, path);
    if (lstatSync(absolute).dev === rootDevice) return false;
    return isPseudoMount(absolute) || (!allowNetworkMounts && isNetworkMount(absolute));
  };

  const report = (watch: Watch, path: string): { hasContent: boolean } => {
    emit(watch, EventType.CREATE, path);
    const stats = lstatSync(join(watch.root, path), { throwIfNoEntry: false });
    const hasContent = stats?.isFile() === true && stats.size > 0;
    if (hasContent) emit(watch, EventType.WRITE, path);
    return { hasContent };
  };

  /**
   * Watches one directory and returns the directories in it. With `isNew`, also reports its contents: they were made before
   * the watch, so the kernel sent no event. Entries made between the watch and the scan are reported twice by the kernel and the
   * scan; the second report is dropped.
   */
  const addLevel = (watch: Watch, path: string, { isNew }: { isNew: boolean }): string[] => {
    const wd = addDirectory(watch, path);
    if (wd === undefined || inotify === undefined) return [];
    if (index.sizeOf(watch) > MAX_DIRECTORIES) {
      throw new ApiError(
        'resource_exhausted',
        `"${watch.root}" has more than ${MAX_DIRECTORIES} directories`,
      );
    }
    const directories: string[] = [];
    const created = new Set<string>();
    const written = new Set<string>();
    for (const entry of readdirSync(join(watch.root, path), { withFileTypes: true })) {
      const child = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) directories.push(child);
      if (!isNew) continue;
      created.add(entry.name);
      if (report(watch, child).hasContent) written.add(entry.name);
    }
    if (created.size > 0) watch.reported.set(wd, { horizon: inotify.horizon(), created, written });
    return directories;
  };

  /** Watches a directory and all below it. Yields to other calls: a tree may be as large as the disk allows. */
  const addTree = async (watch: Watch, top: string, options: { isNew: boolean }): Promise<void> => {
    const rootDevice = statSync(watch.root, { throwIfNoEntry: false })?.dev;
    const waiting = [top];
    let count = 0;
    for (let path = waiting.pop(); path !== undefined && watches.has(watch); path = waiting.pop()) {
      try {
        if (path === '' || !isLeftOut(watch, path, rootDevice)) {
          for (const directory of addLevel(watch, path, options)) waiting.push(directory);
        }
      } catch (error) {
        if (!isErrno(error) || !GONE.has(error.code)) throw error;
      }
      count += 1;
      if (count % DIRECTORIES_PER_TURN === 0) await setImmediate();
    }
  };

  const addNewTree = async (watch: Watch, path: string): Promise<void> => {
    try {
      await addTree(watch, path, { isNew: true });
    } catch (error) {
      const message = `cannot watch "${path}": the limit of watches is reached`;
      end(
        watch,
        error instanceof ApiError ? error : new ApiError('resource_exhausted', message, { cause: error }),
      );
    }
  };

  /** True when a scan has reported this event already. Later events of the same name are reported again. */
  const isReported = (watch: Watch, { wd, mask, name, position }: InotifyEvent): boolean => {
    const reported = watch.reported.get(wd);
    if (reported === undefined) return false;
    if (position > reported.horizon) {
      watch.reported.delete(wd);
      return false;
    }
    if ((mask & IN.MODIFY) !== 0) return reported.written.has(name);
    if ((mask & (IN.CREATE | IN.MOVED_TO)) !== 0) return reported.created.delete(name);
    if ((mask & (IN.DELETE | IN.MOVED_FROM)) !== 0) {
      reported.created.delete(name);
      reported.written.delete(name);
    }
    return false;
  };

  const startRename = (watch: Watch, path: string, cookie: number): void => {
    index.move(watch, path, limbo(cookie));
    const giveUp = (): void => {
      watch.moving.delete(cookie);
      removeWatches(index.remove(watch, limbo(cookie)));
    };
    watch.moving.set(cookie, setTimeout(giveUp, RENAME_MS));
  };

  const finishRename = async (watch: Watch, path: string, cookie: number): Promise<void> => {
    clearTimeout(watch.moving.get(cookie));
    if (watch.moving.delete(cookie)) index.move(watch, limbo(cookie), path);
    if (!index.has(watch, path)) await addNewTree(watch, path);
  };

  const onSelf = (watch: Watch, mask: number): void => {
    if ((mask & IN.ATTRIB) !== 0) emit(watch, EventType.CHMOD, '');
    if ((mask & (IN.DELETE_SELF | IN.UNMOUNT)) !== 0) emit(watch, EventType.REMOVE, '');
    if ((mask & IN.MOVE_SELF) !== 0) {
      emit(watch, EventType.RENAME, '');
      end(watch);
    }
  };

  const onChild = async (watch: Watch, path: string, event: InotifyEvent): Promise<void> => {
    const { mask, cookie } = event;
    const isTree = watch.recursive && (mask & IN.ISDIR) !== 0;
    if ((mask & (IN.CREATE | IN.MOVED_TO)) !== 0) {
      emit(watch, EventType.CREATE, path);
      if (isTree && (mask & IN.CREATE) !== 0) await addNewTree(watch, path);
      else if (isTree) await finishRename(watch, path, cookie);
    }
    if ((mask & IN.MOVED_FROM) !== 0) {
      emit(watch, EventType.RENAME, path);
      if (isTree) startRename(watch, path, cookie);
    }
    if ((mask & IN.ATTRIB) !== 0) emit(watch, EventType.CHMOD, path);
    if ((mask & IN.MODIFY) !== 0) emit(watch, EventType.WRITE, path);
    if ((mask & IN.DELETE) !== 0) emit(watch, EventType.REMOVE, path);
  };

  const onEvent = async (event: InotifyEvent): Promise<void> => {
    const { wd, mask, name } = event;
    if ((mask & IN.Q_OVERFLOW) !== 0) {
      for (const watch of watches)
        end(watch, new ApiError('internal', 'the kernel dropped events: too many changes at once'));
      return;
    }
    for (const watch of index.watchesOf(wd)) {
      const directory = index.pathOf(watch, wd);
      if (directory === undefined || directory.startsWith('\0')) continue;
      if (name !== '') {
        if (!isReported(watch, event))
          await onChild(watch, directory === '' ? name : `${directory}/${name}`, event);
      } else if (directory === '') {
        // The watch of the parent has reported the same event.
        onSelf(watch, mask);
      }
      if ((mask & IN.IGNORED) !== 0) watch.reported.delete(wd);
    }
    if ((mask & IN.IGNORED) !== 0) index.forget(wd);
  };

  const onError = (error: Error): void => {
    inotify = undefined;
    for (const watch of watches)
      end(watch, new ApiError('internal', 'the inotify instance has failed', { cause: error }));
  };

  return {
    async watch(options) {
      inotify ??= createInotify({ onEvent, onError });
      const watch: Watch = { ...options, reported: new Map(), moving: new Map(), failure: undefined };
      watches.add(watch);
      try {
        if (options.recursive) await addTree(watch, '', { isNew: false });
        else addDirectory(watch, '');
        if (watch.failure !== undefined) throw watch.failure;
        if (!index.has(watch, '')) throw notFound(`directory "${options.root}" not found`);
      } catch (error) {
        close(watch);
        throw error;
      }
      return () => close(watch);
    },
  };
};
