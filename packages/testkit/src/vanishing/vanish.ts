import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { RawRequest } from './requests.ts';

/** Where in a call the client goes away. */
export const stages = [
  'before the headers',
  'in the headers',
  'after the headers',
  'in the body',
  'after the body',
  'at the first byte of the answer',
  'in the answer',
  'while the answer is not read',
  'at the end',
] as const;
export const ways = ['closes', 'resets', 'ends its side'] as const;

export interface Visit {
  readonly request: RawRequest;
  readonly stage: (typeof stages)[number];
  readonly way: (typeof ways)[number];
  /** From 0 to 1: where exactly. */
  readonly at: number;
}

/** Longest wait for an answer that may never come, as to half a request. */
const WAIT_MS = 400;

const lengthOf = ({ request: { head, body }, stage, at }: Visit): number => {
  switch (stage) {
    case 'before the headers':
      return 0;
    case 'in the headers':
      return 1 + Math.floor(at * (head.length - 2));
    case 'after the headers':
      return head.length;
    case 'in the body':
      return head.length + Math.floor(at * body.length);
    default:
      return head.length + body.length;
  }
};

/** Makes the call up to its stage and goes away. */
export const vanish = async (port: number, visit: Visit): Promise<void> => {
  const { request, stage, way, at } = visit;
  const socket = connect({ port, host: '127.0.0.1' });
  // A server may well reset what breaks its rules.
  socket.on('error', () => undefined);
  let receivedBytes = 0;
  let changed = (): void => {};
  socket.on('data', (bytes) => {
    receivedBytes += bytes.length;
    changed();
  });
  socket.on('close', () => changed());
  const until = async (isThere: () => boolean): Promise<void> => {
    const deadline = delay(WAIT_MS);
    let isLate = false;
    void deadline.then(() => {
      isLate = true;
      changed();
    });
    while (!isThere() && !isLate && !socket.destroyed) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  await Promise.race([once(socket, 'connect'), delay(WAIT_MS)]);
  if (request.before !== undefined) {
    socket.write(request.before);
    await until(() => receivedBytes > 0);
    receivedBytes = 0;
  }
  socket.write(Buffer.concat([request.head, request.body]).subarray(0, lengthOf(visit)));
  if (stage === 'at the first byte of the answer') await until(() => receivedBytes > 0);
  else if (stage === 'in the answer') await until(() => receivedBytes > 1 + at * 500_000);
  else if (stage === 'while the answer is not read') {
    await until(() => receivedBytes > 0);
    socket.pause();
    await delay(at * 100);
  } else if (stage === 'at the end') await until(() => false);
  else await delay(at * 5);

  if (way === 'resets') socket.resetAndDestroy();
  else if (way === 'closes') socket.destroy();
  else {
    socket.resume().end();
    await delay(WAIT_MS / 2);
    socket.destroy();
  }
};
