import { gzipSync } from 'node:zlib';
import type { DescMethod } from '@bufbuild/protobuf';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';
import fc from 'fast-check';
import { binaryBytesOf } from '../binary-message.ts';
import { jsonBytesOf } from '../json-message.ts';
import { agentHeaders, cuts, type FuzzRequest, framing, toRequest } from '../request.ts';
import { toProcedure } from './unary-calls.ts';

const streaming = [...Filesystem.methods, ...Process.methods].filter(
  ({ methodKind }) => methodKind !== 'unary',
);

const flags = fc.oneof(
  { weight: 12, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constantFrom(1, 2, 3, 4, 0x80, 0xff) },
);

/** What a length says beside the truth: too little, too much, and far too much. */
const lie = fc.oneof(
  { weight: 15, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, 1, 64 * 1024 * 1024, 64 * 1024 * 1024 + 1, 2 ** 31, 2 ** 32 - 1),
  },
);

const envelopeOf = (message: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc.tuple(flags, lie, message, fc.boolean()).map(([flag, length, bytes, isPacked]) => {
    const payload = (flag & 1) === 1 && isPacked ? gzipSync(bytes) : bytes;
    const head = Buffer.alloc(5);
    head.writeUInt8(flag);
    head.writeUInt32BE(length ?? payload.length, 1);
    return Buffer.concat([head, payload]);
  });

const bodyOf = ({ input, methodKind }: DescMethod, isJson: boolean): fc.Arbitrary<Uint8Array> => {
  const message = envelopeOf(isJson ? jsonBytesOf(input) : binaryBytesOf(input));
  const usual =
    methodKind === 'client_streaming' ? { minLength: 1, maxLength: 5 } : { minLength: 1, maxLength: 1 };
  const whole = fc.oneof(
    { weight: 9, arbitrary: fc.array(message, usual) },
    { weight: 1, arbitrary: fc.array(message, { maxLength: 3 }) },
  );
  return fc
    .tuple(
      whole,
      fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 12 }) }),
    )
    .map(([envelopes, cutBytes]) => {
      const bytes = Buffer.concat(envelopes);
      return bytes.subarray(0, Math.max(0, bytes.length - cutBytes));
    });
};

/** Streaming calls of both services: framing, flags, compression, lengths, and messages in any order. */
export const streams: fc.Arbitrary<FuzzRequest> = fc
  .oneof(
    ...streaming.flatMap((method) =>
      [true, false].map((isJson) =>
        fc.tuple(
          fc.constant({ procedure: toProcedure(method), type: isJson ? 'json' : 'proto' }),
          bodyOf(method, isJson),
          fc.constantFrom(undefined, undefined, 'gzip', 'identity', 'br', ''),
          framing,
          cuts,
        ),
      ),
    ),
  )
  .map(([{ procedure, type }, body, encoding, told, where]) =>
    toRequest({
      rule: 'stream',
      procedure,
      method: 'POST',
      target: `/${procedure}`,
      headers: [
        ...agentHeaders,
        ['Content-Type', `application/connect+${type}`],
        ['Connect-Protocol-Version', '1'],
        // A process that is started here must not stay.
        ['Connect-Timeout-Ms', '1500'],
        ...(encoding === undefined ? [] : [['Connect-Content-Encoding', encoding] as const]),
      ],
      body,
      framing: told,
      cuts: where,
    }),
  );
