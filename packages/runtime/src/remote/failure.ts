import { Code, ConnectError } from '@connectrpc/connect';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import {
  FailureCode,
  FailureSchema,
  type Obstacle as SentObstacle,
} from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { type Obstacle, ObstacleError, obstacleKinds } from '../obstacle.ts';

/** The codes on the wire. Clients read the detail; other tools show the Connect code. */
const table: Record<RuntimeErrorCode, { detail: FailureCode; connect: Code }> = {
  not_found: { detail: FailureCode.NOT_FOUND, connect: Code.NotFound },
  already_exists: { detail: FailureCode.ALREADY_EXISTS, connect: Code.AlreadyExists },
  unsupported: { detail: FailureCode.UNSUPPORTED, connect: Code.Unimplemented },
  exhausted: { detail: FailureCode.EXHAUSTED, connect: Code.ResourceExhausted },
  unavailable: { detail: FailureCode.UNAVAILABLE, connect: Code.Unavailable },
  refused: { detail: FailureCode.REFUSED, connect: Code.FailedPrecondition },
  blocked: { detail: FailureCode.BLOCKED, connect: Code.FailedPrecondition },
  damaged: { detail: FailureCode.DAMAGED, connect: Code.DataLoss },
  internal: { detail: FailureCode.INTERNAL, connect: Code.Internal },
};

const codes = new Map(
  (Object.keys(table) as RuntimeErrorCode[]).map((code) => [table[code].detail, code] as const),
);

/** Messages of Node and of programs have no limit. */
const maxMessageLength = 4_096;

/** Does not contain the cause, which stays in the helper's log. */
export const toConnectError = (error: RuntimeError): ConnectError => {
  const { code, message } = error;
  const obstacle = error instanceof ObstacleError ? { obstacle: error.obstacle } : {};
  return new ConnectError(message.slice(0, maxMessageLength), table[code].connect, undefined, [
    { desc: FailureSchema, value: { code: table[code].detail, ...obstacle } },
  ]);
};

/** Returns the error that the driver threw. Any other error is `internal`, except in a call that this process cancelled. */
export function fromConnectError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  const failure = ConnectError.from(error);
  const [detail] = failure.findDetails(FailureSchema);
  const code = detail && codes.get(detail.code);
  const obstacle = detail?.obstacle && toObstacle(detail.obstacle);
  if (obstacle !== undefined) return new ObstacleError(obstacle);
  if (code !== undefined) return new RuntimeError(code, failure.rawMessage);
  if (failure.code === Code.Canceled)
    return new RuntimeError('unavailable', 'the call was aborted', { cause: failure });
  return new RuntimeError('internal', 'the runtime did not understand the call', { cause: failure });
}

/** Undefined where the other side knows a kind that this one does not. */
const toObstacle = ({ kind, process }: SentObstacle): Obstacle | undefined => {
  const known = obstacleKinds.find((one) => one === kind);
  return known && { kind: known, process: process && { pid: process.pid, command: process.command } };
};
