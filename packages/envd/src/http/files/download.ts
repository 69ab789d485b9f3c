import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, constants as zlib } from 'node:zlib';
import { create as createDisposition } from 'content-disposition';
import { chooseContentEncoding } from '../content-encoding.ts';
import { clearHeaders, replyJson } from '../reply.ts';
import { write } from '../send-bytes.ts';
import { type ByteRange, checkConditions, parseByteRange, type Validators } from './byte-range.ts';
import { openRegularFile } from './open-regular-file.ts';
import { EndsEarlierError, readFirstPiece } from './read-first-piece.ts';
import { sendFile } from './workarounds/send-file.ts';

const toValidators = ({ mtimeMs, ino }: Stats, sizeBytes: number): Validators => ({
  etag: `"${Math.round(mtimeMs * 1000).toString(36)}-${sizeBytes.toString(36)}-${ino.toString(36)}"`,
  modifiedMs: Math.floor(mtimeMs / 1000) * 1000,
});

const hasConditions = ({ headers }: IncomingMessage): boolean =>
  Object.keys(headers).some((name) => name === 'range' || name.startsWith('if-'));

/** Files of /proc and /sys report size 0 although they have contents: only reading shows their length. */
const sendUnsized = async (file: FileHandle, res: ServerResponse): Promise<void> => {
  const first = Buffer.allocUnsafe(64 * 1024);
  const { bytesRead } = await file.read(first, 0, first.length, 0);
  // A file that has a size now was empty when it was opened: a program is writing it.
  if (bytesRead === 0 || (await file.stat()).size > 0) res.setHeader('Content-Length', 0);
  else {
    res.write(first.subarray(0, bytesRead));
    await pipeline(file.createReadStream({ start: bytesRead, autoClose: false }), res, { end: false });
  }
  res.end();
};

const createShorterError = (): Error => new Error('the file has become shorter');

/** Fails when the file ends early: a compressed response has no length that would show the reader what is missing. */
async function* readRest(file: FileHandle, first: Buffer, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  yield first;
  let sizeBytes = first.length;
  if (sizeBytes > end - start) return;
  for await (const chunk of file.createReadStream({ start: start + sizeBytes, end, autoClose: false })) {
    sizeBytes += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  if (sizeBytes <= end - start) throw createShorterError();
}

interface Opened {
  path: string;
  file: FileHandle;
  stats: Stats;
  /** The size found by reading, where that differs from `stats`. */
  sizeBytes: number;
}

/** Rejects with `EndsEarlierError`, before anything is sent, when the file lacks the first bytes of the announced range. */
const send = async (
  req: IncomingMessage,
  res: ServerResponse,
  { path, file, stats, sizeBytes }: Opened,
): Promise<void> => {
  const validators = toValidators(stats, sizeBytes);
  const encoding = chooseContentEncoding(req.headers, {
    sizeBytes,
    identityOnly: hasConditions(req),
  });
  res.setHeader('Vary', 'Accept-Encoding');
  res.setHeader('Last-Modified', new Date(validators.modifiedMs).toUTCString());
  if (encoding === 'identity') res.setHeader('ETag', validators.etag);
  const status = checkConditions(req.headers, validators);
  if (status === 304) {
    res.writeHead(304).end();
    return;
  }
  if (status === 412)
    return replyJson(res, 412, {
      code: 412,
      message: `file "${path}" does not match the conditions of the request`,
    });
  const range = parseByteRange(req.headers, { sizeBytes, validators });
  if (range === 'unsatisfiable') {
    res.setHeader('Content-Range', `bytes */${sizeBytes}`);
    return replyJson(res, 416, {
      code: 416,
      message: `file "${path}" has ${sizeBytes} bytes; the range lies outside`,
    });
  }
  res.setHeader('Content-Type', 'application/octet-stream');
  res.setHeader(
    'Content-Disposition',
    createDisposition(basename(path), { type: 'inline', fallback: false }),
  );
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Accept-Ranges', 'bytes');
  if (sizeBytes === 0) return req.method === 'HEAD' ? void res.end() : sendUnsized(file, res);
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
  if (range !== undefined) {
    res.statusCode = 206;
    res.setHeader('Content-Range', `bytes ${start}-${end}/${sizeBytes}`);
  }
  if (encoding === 'gzip') res.setHeader('Content-Encoding', 'gzip');
  else res.setHeader('Content-Length', end - start + 1);
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  const length = end - start + 1;
  const first = await readFirstPiece(file, { start, sizeBytes: length });
  if (encoding === 'gzip') {
    await pipeline(readRest(file, first, { start, end }), createGzip({ level: zlib.Z_BEST_SPEED }), res);
    return;
  }
  if (first.length === length) {
    res.end(first);
    return;
  }
  await write(res, first);
  const rest = { start: start + first.length, sizeBytes: length - first.length };
  if ((await sendFile(file, res, rest)) === rest.sizeBytes) res.end();
  // The length is promised by then: a file that turns out shorter must not look complete. Without an error HTTP/2 would end it.
  else res.destroy(createShorterError());
};

/**
 * Calls `send`, again with the new size when the file is shorter than `stats` reported. Programs that write a file in place empty it
 * first, so a file that is read and written all the time is often shorter than a moment ago. All files of /sys are.
 */
const sendWhatIsThere = async (
  req: IncomingMessage,
  res: ServerResponse,
  opened: Omit<Opened, 'sizeBytes'>,
): Promise<void> => {
  const { file } = opened;
  let { stats } = opened;
  let sizeBytes = stats.size;
  for (;;) {
    try {
      return await send(req, res, { ...opened, stats, sizeBytes });
    } catch (error) {
      if (!(error instanceof EndsEarlierError)) throw error;
      stats = await file.stat();
      // The size decreases in each round, so the loop ends.
      sizeBytes = Math.min(error.sizeBytes, stats.size);
      clearHeaders(res);
      res.statusCode = 200;
    }
  }
};

/**
 * Answers with the bytes of a regular file, whole or one range of it, as they are or compressed. The file is streamed. Its
 * type is checked on the open descriptor, so that no program can replace it in between. When the file becomes shorter before
 * the first bytes are sent, the response describes the shorter file; after that the connection is reset.
 */
export const download = async (req: IncomingMessage, res: ServerResponse, path: string): Promise<void> => {
  const opened = await openRegularFile(path);
  try {
    await sendWhatIsThere(req, res, { path, ...opened });
  } catch (error) {
    // A caller that has disconnected needs no answer.
    if (!res.destroyed) throw error;
  } finally {
    await opened.file.close();
  }
};
