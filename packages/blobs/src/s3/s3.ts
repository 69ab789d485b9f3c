import { PassThrough, type Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { createAttempt } from '../attempt.ts';
import { BlobError, isBlobError, toBlobError } from '../blob-error.ts';
import { parseKey, parsePrefix, parseRange } from '../blob-key.ts';
import type { BlobStore } from '../blob-store.ts';
import { feed, toBody } from '../body.ts';
import { toS3Code } from './s3-error.ts';

/** Plain data. */
export interface S3Settings {
  /** An existing bucket, with nothing else in it. */
  bucket: string;
  region: string;
  /** The URL of a service other than that of AWS: `https://…`. Its buckets are part of the path. */
  endpoint?: string;
  /** Where they are missing, the client looks for them as all programs for AWS do. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

const MIB = 2 ** 20;
const MAX_PARTS = 10_000;
/** The least that S3 takes for a part that is not the last one. */
const LEAST_PART_BYTES = 5 * MIB;
/** The parts of a body of unknown size, which can have 156 GiB then. */
const UNKNOWN_PART_BYTES = 16 * MIB;
/** The parts of one body that are sent at the same time, each from memory. */
const PARTS_IN_FLIGHT = 2;

const CONNECT_DEADLINE_MS = 10_000;
/** A connection on which nothing comes or goes for so long is ended. */
const SILENCE_MS = 60_000;

/**
 * A bucket of S3, or of a service with its protocol. A body above 5 MiB goes in parts, of which the store has nothing
 * until all are there. Rejects as the store does when the bucket cannot be reached.
 */
export const openS3Store = async (settings: S3Settings): Promise<BlobStore> => {
  const { bucket: Bucket, region, endpoint, credentials } = settings;
  const s3 = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    // Checksums of the newer kind are unknown to many services; connections are verified by TLS.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_DEADLINE_MS, socketTimeout: SILENCE_MS },
  });

  const attempt = createAttempt(toS3Code);
  const toOptions = (signal: AbortSignal | undefined) => (signal ? { abortSignal: signal } : {});

  const upload = async (
    Key: string,
    body: Readable,
    { sizeBytes, signal }: { sizeBytes: number | undefined; signal: AbortSignal | undefined },
  ): Promise<number> => {
    const Body = new PassThrough();
    const fed = feed(body, Body, { sizeBytes, signal });
    // Awaited below; this marks the rejection as handled.
    fed.catch(() => undefined);
    const partSize =
      sizeBytes === undefined
        ? UNKNOWN_PART_BYTES
        : Math.max(LEAST_PART_BYTES, Math.ceil(sizeBytes / MAX_PARTS));
    const client = signal ? withSignal(s3, signal) : s3;
    try {
      // When a part fails, it removes those that it has sent.
      await new Upload({
        client,
        params: { Bucket, Key, Body },
        partSize,
        queueSize: PARTS_IN_FLIGHT,
      }).done();
      return await fed;
    } catch (error) {
      Body.destroy();
      throw await fed.then(
        () => error,
        (ofBody: unknown) => (isBlobError(ofBody) ? ofBody : error),
      );
    }
  };

  try {
    await attempt(`looking for the bucket ${Bucket}`, undefined, () =>
      s3.send(new HeadBucketCommand({ Bucket })),
    );
  } catch (error) {
    s3.destroy();
    throw error;
  }

  return {
    put: async (key, body, { sizeBytes, signal } = {}) => {
      try {
        return await attempt(`storing ${key}`, signal, async () => ({
          sizeBytes: await upload(parseKey(key), body, { sizeBytes, signal }),
        }));
      } finally {
        body.destroy();
      }
    },
    get: (key, { range, signal } = {}) =>
      attempt(`reading ${key}`, signal, async () => {
        const Key = parseKey(key);
        const { offset, length } = parseRange(range ?? { offset: 0 });
        const last = length === undefined ? '' : offset + length - 1;
        const Range = range && `bytes=${offset}-${last}`;
        const found = await s3.send(
          new GetObjectCommand({ Bucket, Key, ...(Range !== undefined && { Range }) }),
          toOptions(signal),
        );
        const sizeBytes = found.ContentLength;
        if (sizeBytes === undefined || found.Body === undefined)
          throw new BlobError('internal', `the answer for ${key} has no size`);
        const toError = (error: unknown) =>
          toBlobError(error, { step: `reading ${key}`, toCode: toS3Code, signal });
        return { sizeBytes, body: toBody(found.Body as Readable, { sizeBytes, toError, signal }) };
      }),
    head: (key, { signal } = {}) =>
      attempt(`looking for ${key}`, signal, async () => {
        const Key = parseKey(key);
        try {
          const { ContentLength = 0, LastModified = new Date(0) } = await s3.send(
            new HeadObjectCommand({ Bucket, Key }),
            toOptions(signal),
          );
          return { key, sizeBytes: ContentLength, modifiedAt: LastModified };
        } catch (error) {
          if (toS3Code(error) === 'not_found') return undefined;
          throw error;
        }
      }),
    delete: (key, { signal } = {}) =>
      attempt(`removing ${key}`, signal, async () => {
        await s3.send(new DeleteObjectCommand({ Bucket, Key: parseKey(key) }), toOptions(signal));
      }),
    list: async function* (prefix, { signal } = {}) {
      try {
        const pages = paginateListObjectsV2(
          { client: s3 },
          { Bucket, Prefix: parsePrefix(prefix) },
          toOptions(signal),
        );
        for await (const { Contents = [] } of pages) {
          for (const { Key = '', Size = 0, LastModified = new Date(0) } of Contents)
            yield { key: Key, sizeBytes: Size, modifiedAt: LastModified };
        }
      } catch (error) {
        throw toBlobError(error, { step: `listing ${prefix}`, toCode: toS3Code, signal });
      }
    },
    removeAbandoned: ({ startedBefore, signal }) =>
      attempt('removing what was abandoned', signal, async () => {
        let count = 0;
        let page: ListMultipartUploadsCommandOutput | undefined;
        do {
          page = await s3.send(
            new ListMultipartUploadsCommand({
              Bucket,
              KeyMarker: page?.NextKeyMarker,
              UploadIdMarker: page?.NextUploadIdMarker,
            }),
            toOptions(signal),
          );
          for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
            if (Initiated === undefined || Initiated >= startedBefore) continue;
            await s3
              .send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), toOptions(signal))
              .catch((error: unknown) => {
                // The upload has ended meanwhile.
                if (toS3Code(error) !== 'not_found') throw error;
              });
            count += 1;
          }
        } while (page.IsTruncated);
        return count;
      }),
    close: async () => s3.destroy(),
  };
};

/** The client for one upload: the signal ends all its requests but the one that removes its parts. */
const withSignal = (s3: S3Client, abortSignal: AbortSignal): S3Client => {
  const send: S3Client['send'] = (command: Parameters<S3Client['send']>[0]) =>
    s3.send(command, command instanceof AbortMultipartUploadCommand ? {} : { abortSignal });
  return Object.create(s3, { send: { value: send } }) as S3Client;
};
