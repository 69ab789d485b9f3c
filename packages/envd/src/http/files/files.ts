import type { IncomingMessage } from 'node:http';
import type { Access } from '@skerry/contract/agent-access';
import { ApiError } from '@skerry/contract/error';
import type { SettingsStore } from '../../settings.ts';
import { parsePath } from '../../system/path.ts';
import type { User, Users } from '../../system/users.ts';
import { basicUserOf } from '../auth.ts';
import { readJson } from '../read-json.ts';
import { replyJson } from '../reply.ts';
import type { FileHandlers } from '../server.ts';
import { compose } from './compose.ts';
import { download } from './download.ts';
import { parseComposition } from './parse-composition.ts';
import { upload } from './upload.ts';

/** Some thousand paths. */
const MAX_COMPOSITION_BYTES = 1024 * 1024;

/** Serves `GET` and `POST /files` and `POST /files/compose`, for requests whose token or signature was checked before. */
export const createFileHandlers = ({
  settings,
  users,
}: {
  settings: SettingsStore;
  users: Users;
}): FileHandlers => {
  const userOf = (req: IncomingMessage, named: string | null | undefined, access: Access): User => {
    const basicUser = access === 'signature' ? undefined : basicUserOf(req.headers.authorization);
    const name = named || basicUser;
    return users.get(name ?? settings.current.defaultUser);
  };
  const resolve = (path: string, user: User): string =>
    parsePath(path, { user, workdir: settings.current.defaultWorkdir });
  return {
    async download(req, res, { query, access }) {
      const user = userOf(req, query.get('username'), access);
      await download(req, res, resolve(query.get('path') ?? '', user));
    },
    async upload(req, res, { query, access }) {
      const user = userOf(req, query.get('username'), access);
      await upload(req, res, {
        user,
        path: query.get('path') || undefined,
        mayNameAnyPath: access === 'full',
        resolve: (path) => resolve(path, user),
      });
    },
    async compose(req, res, { access }) {
      const { sourcePaths, destination, username } = parseComposition(
        await readJson(req, { maxBytes: MAX_COMPOSITION_BYTES }),
      );
      const user = userOf(req, username, access);
      const closed = new AbortController();
      res.once('close', () => closed.abort(new ApiError('unavailable', 'the request ended early')));
      const paths = {
        sources: sourcePaths.map((path) => resolve(path, user)),
        destination: resolve(destination, user),
      };
      replyJson(res, 200, await compose(paths, { user, signal: closed.signal }));
    },
  };
};
