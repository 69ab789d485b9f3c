import { once } from 'node:events';
import { Readable } from 'node:stream';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBlobStore } from '../open-blob-store.ts';
import { describeBlobStore } from '../suite/suite.ts';
import { hasSwift, type SwiftServer, startSwift } from '../testing/swift-server.ts';
import type { S3Settings } from './s3.ts';

describe.skipIf(!hasSwift())('S3, served by Swift', () => {
  let server: SwiftServer;
  beforeAll(async () => {
    server = await startSwift();
  });
  afterAll(() => server?.remove());

  /** A client beside the store, and what it sees of unfinished uploads. */
  const look = ({ bucket: Bucket, credentials, ...settings }: S3Settings) => {
    const s3 = new S3Client({ ...settings, forcePathStyle: true, ...(credentials && { credentials }) });
    return {
      s3,
      findUnfinished: async () => {
        const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
        return Uploads.map(({ Key = '' }) => Key);
      },
    };
  };

  describeBlobStore('S3', async () => {
    const settings = await server.createBucket();
    const { findUnfinished } = look(settings);
    return { store: await openBlobStore({ kind: 's3', ...settings }), findUnfinished };
  });

  it('loses the parts that a killed process has sent, once they are old enough', async () => {
    const settings = await server.createBucket();
    const store = await openBlobStore({ kind: 's3', ...settings });
    const { s3, findUnfinished } = look(settings);
    const upload = { Bucket: settings.bucket, Key: 'large' };
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(upload));
    await s3.send(new UploadPartCommand({ ...upload, UploadId, PartNumber: 1, Body: 'x'.repeat(100) }));
    expect(await findUnfinished()).toEqual(['large']);
    expect(await store.removeAbandoned({ startedBefore: new Date(60_000) })).toBe(0);
    expect(await store.head('large')).toBeUndefined();
    expect(await store.removeAbandoned({ startedBefore: new Date(Date.now() + 3_600_000) })).toBe(1);
    expect(await findUnfinished()).toEqual([]);
    s3.destroy();
    await store.close();
  });

  it('cannot be opened with a wrong key, without its bucket, or where nothing listens', async () => {
    const settings = await server.createBucket();
    const cases: [string, Partial<S3Settings>][] = [
      ['denied', { credentials: { accessKeyId: 'test:tester', secretAccessKey: 'wrong' } }],
      ['denied', { credentials: { accessKeyId: 'test:unknown', secretAccessKey: 'testing' } }],
      ['not_found', { bucket: 'missing' }],
      ['unavailable', { endpoint: 'http://127.0.0.1:9' }],
    ];
    for (const [code, change] of cases)
      await expect(openBlobStore({ kind: 's3', ...settings, ...change })).rejects.toMatchObject({
        name: 'BlobError',
        code,
      });
  });

  it('is "unavailable" once the service is gone, and says so for bodies that are being read', async () => {
    const other = await startSwift();
    const store = await openBlobStore({ kind: 's3', ...(await other.createBucket()) });
    await store.put('key', Readable.from([Buffer.alloc(30_000_000)]));
    const { body } = await store.get('key');
    const failure = once(body, 'error');
    await other.remove();
    body.resume();
    expect(await failure).toMatchObject([{ code: 'unavailable' }]);
    const failed = store.put('key', Readable.from(['x']));
    await expect(failed).rejects.toMatchObject({ code: 'unavailable' });
    await store.close();
  });
});
