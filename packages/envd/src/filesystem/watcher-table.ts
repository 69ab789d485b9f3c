import { ApiError, invalid, notFound } from '@skerry/contract/error';
import { createEventQueue, type EventQueue } from '../host/event-queue.ts';
import { isErrno } from '../system/errno.ts';
import type { Users } from '../system/users.ts';
import { checkDirectory } from './list-directory.ts';
import { isNetworkMount } from './mount-type.ts';
import { createWatchTree, type FilesystemEventInit } from './watch-tree.ts';

export interface WatchRequest {
  recursive: boolean;
  includeEntry: boolean;
  allowNetworkMounts: boolean;
}

export interface WatcherTable {
  /** Queues the changes of a directory until `close`. Rejects like the calls of the protocol that watch. */
  watch(
    path: string,
    request: WatchRequest,
  ): Promise<{ queue: EventQueue<FilesystemEventInit>; close: () => void }>;
  /** Collects changes under a new id until the caller fetches them. */
  create(path: string, request: WatchRequest): Promise<string>;
  /** Returns the collected events and removes them. A watcher that failed throws its error once, after its events, and is removed. */
  drain(id: string): FilesystemEventInit[];
  remove(id: string): void;
}

interface Watcher {
  events: FilesystemEventInit[];
  error: Error | undefined;
  close: () => void;
}

const MAX_EVENTS = 16_384;
const MAX_WATCHERS = 1024;
const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

const createId = (): string => {
  // Load the module here: an import takes 5 ms of the time until the first call.
  const { randomInt } = process.getBuiltinModule('node:crypto');
  return `w${Array.from({ length: 20 }, () => ID_LETTERS[randomInt(36)]).join('')}`;
};

const overflow = (): ApiError =>
  new ApiError('internal', `more than ${MAX_EVENTS} events were waiting; the watcher has ended`);

const checkWatchable = (path: string, { allowNetworkMounts }: WatchRequest): void => {
  checkDirectory(path);
  if (!allowNetworkMounts && isNetworkMount(path)) {
    throw invalid(`"${path}" is on a network mount; set allowNetworkMounts to watch it`);
  }
};

export const createWatcherTable = ({ users }: { users: Users }): WatcherTable => {
  const tree = createWatchTree({ users });
  const watchers = new Map<string, Watcher>();
  let openCount = 0;

  const open = async (
    root: string,
    request: WatchRequest,
    sink: { onEvent: (event: FilesystemEventInit) => void; onEnd: (error?: Error) => void },
  ): Promise<() => void> => {
    checkWatchable(root, request);
    if (openCount >= MAX_WATCHERS)
      throw new ApiError('resource_exhausted', `the limit of ${MAX_WATCHERS} watchers is reached`);
    const { recursive, includeEntry, allowNetworkMounts } = request;
    openCount += 1;
    let unwatch: () => void;
    try {
      unwatch = await tree.watch({ root, recursive, includeEntry, allowNetworkMounts, ...sink });
    } catch (error) {
      openCount -= 1;
      if (isErrno(error) && (error.code === 'ENOSPC' || error.code === 'EMFILE')) {
        throw new ApiError('resource_exhausted', 'the limit of watches is reached', { cause: error });
      }
      throw error;
    }
    let isOpen = true;
    return () => {
      unwatch();
      if (isOpen) openCount -= 1;
      isOpen = false;
    };
  };

  const get = (id: string): Watcher => {
    const watcher = watchers.get(id);
    if (watcher === undefined) throw notFound(`watcher "${id}" not found`);
    return watcher;
  };

  return {
    async watch(path, request) {
      const queue = createEventQueue<FilesystemEventInit>();
      const close = await open(path, request, {
        onEvent(event) {
          if (queue.sizeBytes >= MAX_EVENTS) queue.discard(overflow());
          else queue.push(event, 1);
        },
        onEnd: (error) => queue.close(error),
      });
      return { queue, close };
    },

    async create(path, request) {
      const id = createId();
      const watcher: Watcher = { events: [], error: undefined, close: () => undefined };
      const fail = (error: Error): void => {
        watcher.error ??= error;
        watcher.close();
      };
      watcher.close = await open(path, request, {
        onEvent(event) {
          if (watcher.error !== undefined) return;
          if (watcher.events.push(event) > MAX_EVENTS) {
            watcher.events = [];
            fail(overflow());
          }
        },
        onEnd: (error) =>
          fail(error ?? new ApiError('internal', `"${path}" has been moved; the watcher has ended`)),
      });
      watchers.set(id, watcher);
      return id;
    },

    drain(id) {
      const watcher = get(id);
      const { events, error } = watcher;
      if (events.length === 0 && error !== undefined) {
        watchers.delete(id);
        throw error;
      }
      watcher.events = [];
      return events;
    },

    remove(id) {
      get(id).close();
      watchers.delete(id);
    },
  };
};
