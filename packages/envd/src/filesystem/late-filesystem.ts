import type { ServiceImpl } from '@connectrpc/connect';
import type { Filesystem } from '@skerry/envd-client/filesystem';
import type { FilesystemService } from './filesystem-service.ts';

/**
 * The Connect service over the files of this sandbox, whose code is loaded by its first call: most sandboxes begin with a
 * command, which would wait for it.
 */
export const createLateFilesystem = (load: () => Promise<FilesystemService>) =>
  ({
    stat: async (request, context) => (await load()).stat(request, context),
    makeDir: async (request, context) => (await load()).makeDir(request, context),
    move: async (request, context) => (await load()).move(request, context),
    listDir: async (request, context) => (await load()).listDir(request, context),
    remove: async (request, context) => (await load()).remove(request, context),
    watchDir: async function* (request, context) {
      yield* (await load()).watchDir(request, context);
    },
    createWatcher: async (request, context) => (await load()).createWatcher(request, context),
    getWatcherEvents: async (request, context) => (await load()).getWatcherEvents(request, context),
    removeWatcher: async (request) => (await load()).removeWatcher(request),
  }) satisfies ServiceImpl<typeof Filesystem>;
