import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { ApiError, conflict, invalid } from '@skerry/contract/error';
import type { Filesystem } from '@skerry/envd-client/filesystem';
import { follow, SILENCE } from '../host/event-queue.ts';
import { keepaliveMsOf, userOf, whenGone } from '../rpc/context.ts';
import type { SettingsStore } from '../settings.ts';
import { isErrno } from '../system/errno.ts';
import { unescapePath } from '../system/escaped-name.ts';
import { makeDirectories } from '../system/make-directories.ts';
import { parsePath } from '../system/path.ts';
import type { Users } from '../system/users.ts';
import { readEntryInfo } from './entry-info.ts';
import { answerListing } from './large-listing.ts';
import { listDirectory } from './list-directory.ts';
import { move } from './move.ts';
import { toEntriesFor, toEntryFor, toEventFor } from './strict-client.ts';
import { createWatcherTable } from './watcher-table.ts';

const KEEPALIVE = { event: { case: 'keepalive' as const, value: {} } };

const isDirectory = (path: string): boolean | undefined => {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (isErrno(error) && error.code === 'ENOENT') return undefined;
    if (isErrno(error) && error.code === 'ENOTDIR') {
      throw new ApiError('internal', `a parent of "${path}" is not a directory`, { cause: error });
    }
    throw error;
  }
};

/** The Connect service over the files of this sandbox. Everything runs with the rights of the agent. */
export const createFilesystemService = (options: { settings: SettingsStore; users: Users }) => {
  const { settings, users } = options;
  const watchers = createWatcherTable({ users });
  const resolve = (path: string, context: HandlerContext): string =>
    parsePath(path, { user: userOf(context), workdir: settings.current.defaultWorkdir });
  const describe = (path: string, context: HandlerContext) => ({
    entry: toEntryFor(context, readEntryInfo(path, users.names(), unescapePath(path))),
  });

  return {
    stat: (request, context) => describe(resolve(request.path, context), context),

    async makeDir(request, context) {
      const path = resolve(request.path, context);
      const existing = isDirectory(path);
      if (existing === true) throw conflict(`directory "${path}" already exists`);
      if (existing === false) throw invalid(`path "${path}" is a file`);
      await makeDirectories(path, userOf(context));
      return describe(path, context);
    },

    async move(request, context) {
      const destination = resolve(request.destination, context);
      await move(resolve(request.source, context), destination, userOf(context));
      return describe(destination, context);
    },

    listDir(request, context) {
      const batches = listDirectory(resolve(request.path, context), {
        depth: Math.max(1, request.depth),
        names: users.names(),
        signal: context.signal,
      });
      return answerListing(toEntriesFor(context, batches), context);
    },

    async remove(request, context) {
      const path = resolve(request.path, context);
      if (path === '/') throw invalid('the root directory cannot be removed');
      try {
        await rm(unescapePath(path), { recursive: true, force: true });
      } catch (error) {
        if (!isErrno(error)) throw error;
        // "file/x" does not exist any more than "x" would.
        if (error.code === 'ENOTDIR') return {};
        throw new ApiError('internal', `cannot remove "${path}": ${error.code}`, { cause: error });
      }
      return {};
    },

    async *watchDir(request, context) {
      const keepaliveMs = keepaliveMsOf(context);
      const { queue, close } = await watchers.watch(resolve(request.path, context), request);
      whenGone(context, close);
      try {
        yield { event: { case: 'start' as const, value: {} } };
        for await (const event of follow(queue, { signal: context.signal, keepaliveMs })) {
          if (event === SILENCE) yield KEEPALIVE;
          else yield { event: { case: 'filesystem' as const, value: toEventFor(context, event) } };
        }
      } finally {
        close();
      }
    },

    createWatcher: async (request, context) => ({
      watcherId: await watchers.create(resolve(request.path, context), request),
    }),

    getWatcherEvents: ({ watcherId }, context) => ({
      events: watchers.drain(watcherId).map((event) => toEventFor(context, event)),
    }),

    removeWatcher({ watcherId }) {
      watchers.remove(watcherId);
      return {};
    },
  } satisfies ServiceImpl<typeof Filesystem>;
};

export type FilesystemService = ReturnType<typeof createFilesystemService>;
