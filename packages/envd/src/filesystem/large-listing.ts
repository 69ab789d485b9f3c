import { create, toBinary, toJson } from '@bufbuild/protobuf';
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { ApiError } from '@skerry/contract/error';
import { type EntryInfo, type ListDirResponse, ListDirResponseSchema } from '@skerry/envd-client/filesystem';
import { useNumericSizes } from './numeric-sizes.ts';

/** Answers up to this many entries are small enough to be made as a whole. */
const MAX_WHOLE_ENTRIES = 2048;
/** The most that one answer may measure. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const PIECES = createContextKey<Buffer[] | undefined>(undefined);

const HEAD = '{"entries":[';
const TAIL = ']}';

const toJsonPiece = (response: ListDirResponse, { isFirst }: { isFirst: boolean }): Buffer => {
  const json = JSON.stringify(useNumericSizes(toJson(ListDirResponseSchema, response)));
  return Buffer.from(`${isFirst ? HEAD : ','}${json.slice(HEAD.length, -TAIL.length)}`);
};

/**
 * Makes the answer to ListDir from batches of entries, none of them empty. A large one is encoded batch by batch, so that it
 * takes the memory of its bytes and no long turn; `withLargeListing` then sends those bytes. Rejects with `resource_exhausted` when it
 * would be larger than 64 MiB.
 */
export const answerListing = async (
  batches: AsyncIterable<EntryInfo[]>,
  { requestHeader, values }: Pick<HandlerContext, 'requestHeader' | 'values'>,
): Promise<ListDirResponse> => {
  const isBinary = requestHeader.get('content-type')?.toLowerCase() === 'application/proto';
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  let entries: EntryInfo[] = [];
  const encode = (): void => {
    const response = create(ListDirResponseSchema, { entries });
    entries = [];
    // Binary messages are joined by writing one after the other.
    const piece = isBinary
      ? Buffer.from(toBinary(ListDirResponseSchema, response))
      : toJsonPiece(response, { isFirst: pieces.length === 0 });
    sizeBytes += piece.length;
    if (sizeBytes > MAX_ANSWER_BYTES) {
      throw new ApiError(
        'resource_exhausted',
        `the list would have more than ${MAX_ANSWER_BYTES} bytes; list fewer levels`,
      );
    }
    pieces.push(piece);
  };
  for await (const batch of batches) {
    entries.push(...batch);
    if (entries.length > MAX_WHOLE_ENTRIES || pieces.length > 0) encode();
  }
  if (pieces.length > 0) {
    if (!isBinary) pieces.push(Buffer.from(TAIL));
    values.set(PIECES, pieces);
  }
  return create(ListDirResponseSchema, { entries });
};

async function* eachOnce(pieces: Buffer[]): AsyncGenerator<Uint8Array> {
  // Taken off the list, so that what is sent can be freed.
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece;
}

/** Sends what `answerListing` has encoded in place of the answer that connect-es has made. */
export const withLargeListing = (handler: UniversalHandler): UniversalHandler =>
  Object.assign(async (request: Parameters<UniversalHandler>[0]) => {
    const response = await handler(request);
    const pieces = request.contextValues?.get(PIECES);
    if (pieces === undefined || response.status !== 200) return response;
    const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    response.header?.set('content-length', String(sizeBytes));
    return { ...response, body: eachOnce(pieces) };
  }, handler);
