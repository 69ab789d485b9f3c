import type { IncomingMessage } from 'node:http';
import { ApiError, notFound } from '@skerry/contract/error';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';

const UNARY = /^application\/(json(; ?charset=utf-?8)?|proto)$/i;
const STREAM = /^application\/connect\+(json(; ?charset=utf-?8)?|proto)$/i;

/** The content types of each procedure, by its path. */
const CONTENT_TYPES = new Map(
  [Process, Filesystem].flatMap(({ typeName, methods }) =>
    methods.map(({ name, methodKind }) => [`/${typeName}/${name}`, methodKind === 'unary' ? UNARY : STREAM]),
  ),
);

/**
 * Refuses a request that is not a call of a procedure, with the JSON error body that connect-es leaves out. Throws `not_found`,
 * `method_not_allowed` or `unsupported_media_type`.
 */
export const checkRpcRequest = ({ method, url = '', headers }: IncomingMessage): void => {
  const path = url.split('?', 1)[0] as string;
  const contentTypes = CONTENT_TYPES.get(path);
  if (contentTypes === undefined) throw notFound(`no procedure ${path}`);
  if (method !== 'POST')
    throw new ApiError('method_not_allowed', `${path} supports only POST`, { headers: { Allow: 'POST' } });
  if (!contentTypes.test(headers['content-type'] ?? '')) {
    const kind = contentTypes === UNARY ? 'application/' : 'application/connect+';
    throw new ApiError(
      'unsupported_media_type',
      `Content-Type of ${path} must be ${kind}json or ${kind}proto`,
    );
  }
};
