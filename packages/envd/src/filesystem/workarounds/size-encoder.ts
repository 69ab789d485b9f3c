/**
 * Program: connect-es
 * Does: Gives connect-es an encoder of text that makes sizes of files numbers in what it serialises as JSON.
 * Why not the promised way: Proto-JSON writes an int64 as a string, and protobuf-es has no option for it. connect-es passes its
 * options for JSON on to the encoder, of which its types do not say that it may be replaced.
 * Source: https://github.com/connectrpc/connect-es/blob/main/packages/connect/src/protocol/create-method-serialization-lookup.ts
 * When it no longer fits: Sizes are strings, which all generated clients accept as well.
 * Test: ../filesystem-service.test.ts
 */
import type { JsonValue } from '@bufbuild/protobuf';
import { useNumericSizes } from '../numeric-sizes.ts';

/** Encodes JSON of the filesystem service, with sizes as numbers. */
export const createSizeEncoder = () => {
  const encoder = new TextEncoder();
  return {
    encode: (json = ''): Uint8Array<ArrayBuffer> =>
      encoder.encode(
        json.includes('"size"') ? JSON.stringify(useNumericSizes(JSON.parse(json) as JsonValue)) : json,
      ),
  };
};
