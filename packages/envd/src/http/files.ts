import type { IncomingMessage } from 'node:http';
import { basicUserOf } from '../auth.ts';
import { parsePath } from '../path.ts';
import type { FileHandlers } from '../server.ts';
import type { SettingsStore } from '../settings.ts';
import type { User, Users } from '../users.ts';
import { download } from './download.ts';
import { upload } from './upload.ts';

/** Serves `GET` and `POST /files`, for requests whose token or signature was checked before. */
export const createFileHandlers = ({
  settings,
  users,
}: {
  settings: SettingsStore;
  users: Users;
}): FileHandlers => {
  const userOf = (req: IncomingMessage, query: URLSearchParams): User => {
    const name = query.get('username') || basicUserOf(req.headers.authorization);
    return users.get(name ?? settings.current.defaultUser);
  };
  const resolve = (path: string, user: User): string =>
    parsePath(path, { user, workdir: settings.current.defaultWorkdir });
  return {
    async download(req, res, query) {
      await download(req, res, resolve(query.get('path') ?? '', userOf(req, query)));
    },
    async upload(req, res, query) {
      const user = userOf(req, query);
      await upload(req, res, {
        user,
        path: query.get('path') || undefined,
        resolve: (path) => resolve(path, user),
      });
    },
  };
};
