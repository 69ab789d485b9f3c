import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ApiError, invalid } from '@skerry/contract/error';
import type { User } from '../../system/users.ts';
import { replyJson } from '../reply.ts';
import { dropUnread } from '../unread-body.ts';
import { parseMetadata } from './metadata.ts';
import { readMultipart } from './multipart.ts';
import { type UploadRecord, writeBody } from './write-body.ts';

export interface UploadTarget {
  user: User;
  /** The `path` query as it came; empty or absent means that multipart filenames decide. */
  path: string | undefined;
  /** Whether a filename of the body may be any path. One that only a signature without a path opened may not leave the home. */
  mayNameAnyPath: boolean;
  resolve(path: string): string;
}

/** A relative path that stays below the folder it starts at, whatever that is. */
const staysBelow = (name: string): boolean =>
  !name.startsWith('/') && !name.startsWith('~') && !name.split('/').includes('..');

/** Stops reading when the reader fails. The iterator of the request itself would destroy the request. */
async function* piecesOf(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const piece of req) yield piece as Uint8Array;
}

/** The body of a request without its content encoding. */
const decodeBody = (req: IncomingMessage): AsyncIterable<Uint8Array> => {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return req;
  if (encoding !== 'gzip')
    throw invalid(`Content-Encoding "${encoding}" is not supported; use gzip or identity`);
  // Errors of both reach the reader of the last stream.
  return pipeline(Readable.from(piecesOf(req), { objectMode: false }), createGunzip(), () => undefined);
};

const isBadGzip = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

const uploadRaw = async (
  body: AsyncIterable<Uint8Array>,
  req: IncomingMessage,
  target: UploadTarget,
): Promise<UploadRecord[]> => {
  if (target.path === undefined) throw invalid('path is required for an application/octet-stream body');
  const metadata = parseMetadata(req.headers);
  return [await writeBody(body, { path: target.resolve(target.path), user: target.user, metadata })];
};

const uploadParts = async (
  body: AsyncIterable<Uint8Array>,
  req: IncomingMessage,
  target: UploadTarget,
): Promise<UploadRecord[]> => {
  const metadata = parseMetadata(req.headers);
  const records: UploadRecord[] = [];
  const targets = new Set<string>();
  await readMultipart(body, req.headers, async ({ filename, body: part }) => {
    const name = target.path ?? filename;
    if (name === undefined)
      throw invalid('a part named "file" needs a filename when the path query is absent');
    if (target.path === undefined && !target.mayNameAnyPath && !staysBelow(name))
      throw invalid(
        `the signed path is empty, so "${name}" must be relative to the home, without ".." and "~"`,
      );
    const path = target.resolve(name);
    if (target.path !== undefined && records.length > 0)
      throw invalid('path names one file, but the body has several');
    if (targets.has(path)) throw invalid(`two parts have the same target "${path}"`);
    targets.add(path);
    records.push(await writeBody(part, { path, user: target.user, metadata }));
  });
  if (records.length === 0) throw invalid('the body has no part named "file"');
  return records;
};

/**
 * Writes one file from a raw body, or each `file` part of a multipart body, while it arrives. Answers with one record per file
 * in the order of the parts. When a part fails, the files before it stay.
 */
export const upload = async (
  req: IncomingMessage,
  res: ServerResponse,
  target: UploadTarget,
): Promise<void> => {
  dropUnread(req, res);
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  try {
    if (type === 'application/octet-stream') {
      replyJson(res, 200, await uploadRaw(decodeBody(req), req, target));
    } else if (type.startsWith('multipart/')) {
      replyJson(res, 200, await uploadParts(decodeBody(req), req, target));
    } else {
      throw invalid('Content-Type must be multipart/form-data or application/octet-stream');
    }
  } catch (error) {
    if (isBadGzip(error)) throw invalid('the body is not valid gzip', { cause: error });
    if (req.errored !== null) throw new ApiError('unavailable', 'the request ended early', { cause: error });
    throw error;
  }
};
