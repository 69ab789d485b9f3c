import { describe, expect, it } from 'vitest';
import { parseBlobStore } from './parse-blob-store.ts';

describe('a blob store', () => {
  it('is an absolute folder, or a bucket with its region and endpoint', () => {
    expect(parseBlobStore('/srv/blobs')).toEqual({ kind: 'folder', folder: '/srv/blobs' });
    expect(parseBlobStore('s3://my.bucket')).toEqual({
      kind: 's3',
      bucket: 'my.bucket',
      region: 'us-east-1',
    });
    expect(parseBlobStore('s3://b?region=eu-west-1&endpoint=https://s3.example.com:9000')).toEqual({
      ...{ kind: 's3', bucket: 'b', region: 'eu-west-1', endpoint: 'https://s3.example.com:9000' },
    });
  });

  it('is refused when it has credentials, or is neither an absolute folder nor a valid URL of a bucket', () => {
    for (const text of [
      'relative',
      '',
      'https://bucket',
      's3://',
      's3://b/path',
      's3://b?endpoint=ftp://x',
      's3://b?key=1',
      's3://key:secret@b',
    ])
      expect(() => parseBlobStore(text), text).toThrow(
        expect.objectContaining({ name: 'InvalidArgumentError' }),
      );
    expect(() => parseBlobStore('s3://key:secret@b')).toThrow('AWS_SECRET_ACCESS_KEY');
  });
});
