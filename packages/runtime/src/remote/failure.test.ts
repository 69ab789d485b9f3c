import { Code, ConnectError } from '@connectrpc/connect';
import { expect, it } from 'vitest';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import { ObstacleError } from '../obstacle.ts';
import { fromConnectError, toConnectError } from './failure.ts';

it.each<[RuntimeErrorCode, Code]>([
  ['not_found', Code.NotFound],
  ['already_exists', Code.AlreadyExists],
  ['unsupported', Code.Unimplemented],
  ['exhausted', Code.ResourceExhausted],
  ['unavailable', Code.Unavailable],
  ['refused', Code.FailedPrecondition],
  ['damaged', Code.DataLoss],
  ['internal', Code.Internal],
  ['blocked', Code.FailedPrecondition],
])('is %s on both sides', (code, connectCode) => {
  const failure = toConnectError(new RuntimeError(code, 'it failed', { cause: new Error('secret') }));
  expect(failure.code).toBe(connectCode);
  expect(failure.cause).toBeUndefined();
  expect(fromConnectError(failure)).toEqual(new RuntimeError(code, 'it failed'));
});

it('says on both sides what prevents keeping the memory', () => {
  const process = { pid: 12, command: 'python3' };
  for (const obstacle of [{ kind: 'traced_process', process }, { kind: 'unrest' }] as const)
    expect(fromConnectError(toConnectError(new ObstacleError(obstacle)))).toEqual(
      new ObstacleError(obstacle),
    );
});

it('does not use the code of the transport as the code of the driver', () => {
  const refused = fromConnectError(new ConnectError('no such procedure', Code.NotFound));
  expect(refused).toMatchObject({ name: 'RuntimeError', code: 'internal' });
});
