import { Code, ConnectError } from '@connectrpc/connect';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import { FailureCode, FailureSchema } from '../gen/skerry/runtime/v1/runtime_pb.ts';

/** What each code is on the wire: the detail is what a client reads, the Connect code what any other tool shows. */
const table: Record<RuntimeErrorCode, { detail: FailureCode; connect: Code }> = {
  not_found: { detail: FailureCode.NOT_FOUND, connect: Code.NotFound },
  already_exists: { detail: FailureCode.ALREADY_EXISTS, connect: Code.AlreadyExists },
  unsupported: { detail: FailureCode.UNSUPPORTED, connect: Code.Unimplemented },
  exhausted: { detail: FailureCode.EXHAUSTED, connect: Code.ResourceExhausted },
  unavailable: { detail: FailureCode.UNAVAILABLE, connect: Code.Unavailable },
  refused: { detail: FailureCode.REFUSED, connect: Code.FailedPrecondition },
  damaged: { detail: FailureCode.DAMAGED, connect: Code.DataLoss },
  internal: { detail: FailureCode.INTERNAL, connect: Code.Internal },
};

const codes = new Map(
  (Object.keys(table) as RuntimeErrorCode[]).map((code) => [table[code].detail, code] as const),
);

/** A message of Node or of a program may be of any length. */
const maxMessageLength = 4_096;

/** Says nothing of the cause: it stays in the helper's log. */
export const toConnectError = ({ code, message }: RuntimeError): ConnectError =>
  new ConnectError(message.slice(0, maxMessageLength), table[code].connect, undefined, [
    { desc: FailureSchema, value: { code: table[code].detail } },
  ]);

/** What the driver threw. Anything else is `internal`, but for a call that was called off here. */
export function fromConnectError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  const failure = ConnectError.from(error);
  const [detail] = failure.findDetails(FailureSchema);
  const code = detail && codes.get(detail.code);
  if (code !== undefined) return new RuntimeError(code, failure.rawMessage);
  if (failure.code === Code.Canceled)
    return new RuntimeError('unavailable', 'the call was aborted', { cause: failure });
  return new RuntimeError('internal', 'the runtime did not understand the call', { cause: failure });
}
