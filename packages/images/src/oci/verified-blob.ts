import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { ImageError } from '../image-error.ts';

/**
 * Passes bytes through and fails with `corrupt` when they contradict the digest or the size: at the first byte too
 * many, otherwise at the end. A reader must not trust the bytes before the end.
 */
export function createVerifier({
  digest,
  sizeBytes,
  onBytes,
}: {
  digest: string;
  /** Undefined when only the digest is known. */
  sizeBytes?: number;
  onBytes?: ((count: number) => void) | undefined;
}): Transform {
  const hash = createHash('sha256');
  let received = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      if (sizeBytes !== undefined && received > sizeBytes) {
        done(new ImageError('corrupt', `the layer ${digest} is longer than ${sizeBytes} bytes`));
        return;
      }
      hash.update(chunk);
      onBytes?.(chunk.length);
      done(null, chunk);
    },
    flush(done) {
      const actual = `sha256:${hash.digest('hex')}`;
      if (sizeBytes !== undefined && received !== sizeBytes)
        done(new ImageError('corrupt', `the layer ${digest} ended after ${received} of ${sizeBytes} bytes`));
      else if (actual !== digest)
        done(new ImageError('corrupt', `the layer ${digest} has the digest ${actual}`));
      else done();
    },
  });
}
