import type { DescMethod } from '@bufbuild/protobuf';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';
import fc from 'fast-check';
import { binaryBytesOf } from '../binary-message.ts';
import { jsonBytesOf } from '../json-message.ts';
import { agentHeaders, cuts, type FuzzRequest, framing, toRequest } from '../request.ts';

const unary = [...Filesystem.methods, ...Process.methods].filter(({ methodKind }) => methodKind === 'unary');

export const toProcedure = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`;

const callsOf = (
  type: string,
  bodyOf: (method: DescMethod) => fc.Arbitrary<Uint8Array>,
): fc.Arbitrary<FuzzRequest> =>
  fc
    .oneof(
      ...unary.map((method) => fc.tuple(fc.constant(toProcedure(method)), bodyOf(method), framing, cuts)),
    )
    .map(([procedure, body, told, where]) =>
      toRequest({
        rule: 'unary',
        procedure,
        method: 'POST',
        target: `/${procedure}`,
        headers: [...agentHeaders, ['Content-Type', type], ['Connect-Protocol-Version', '1']],
        body,
        framing: told,
        cuts: where,
      }),
    );

/** Unary calls of both services with JSON that is mostly what the schema wants. */
export const jsonCalls = callsOf('application/json', ({ input }) => jsonBytesOf(input));

/** Unary calls in binary that are mostly what the schema wants. */
export const binaryCalls = callsOf('application/proto', ({ input }) => binaryBytesOf(input));
