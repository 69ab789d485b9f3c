import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { RecycledReads } from './recycled-reads.ts';

class FakeSocket extends EventEmitter {
  readonly pushed: Buffer[] = [];
  pauses = 0;
  push(piece: Buffer): boolean {
    return this.pushed.push(piece) > 0;
  }
  pause(): void {
    this.pauses += 1;
  }
}

describe('a connection', () => {
  const largeBytes = 20_000;
  const taken: { piece: Uint8Array; done: () => void }[] = [];
  let socket: FakeSocket;
  let reads: RecycledReads;
  let goesOn: boolean;
  beforeEach(() => {
    taken.length = 0;
    goesOn = true;
    socket = new FakeSocket();
    reads = new RecycledReads();
  });
  const setSink = (isReady = true): void => {
    reads.sink = {
      isReady: () => isReady,
      write: (piece, done) => {
        taken.push({ piece, done });
        return goesOn;
      },
    };
  };
  /** Node reads into the buffer that was asked for after the read before. */
  let buffer: Uint8Array | undefined;
  const read = (value: number, sizeBytes: number): boolean => {
    const given = buffer ?? reads.nextBuffer();
    given.fill(value, 0, sizeBytes);
    const result = reads.receive(socket as never, sizeBytes, given);
    buffer = reads.nextBuffer();
    return result;
  };
  beforeEach(() => {
    buffer = undefined;
  });
  const written = (): number[][] => taken.map(({ piece }) => [piece.length, ...new Set(piece.values())]);

  it('with a sink reuses its memory when the sink is done with it, and not before', () => {
    setSink();
    read(1, largeBytes);
    const [first] = taken;
    goesOn = false;
    expect(read(2, largeBytes)).toBe(false);
    expect(written()).toEqual([
      [largeBytes, 1],
      [largeBytes, 2],
    ]);
    first?.done();
    buffer = undefined;
    read(3, largeBytes);
    read(4, largeBytes);
    const memories = taken.map(({ piece }) => piece.buffer);
    expect(memories[3]).toBe(memories[0]);
    expect(new Set(memories).size).toBe(3);
    expect(socket.pushed).toEqual([]);
  });

  it('joins small reads of one turn of the event loop, in their order', async () => {
    setSink();
    for (const value of [1, 2, 3]) expect(read(value, 1_000)).toBe(true);
    expect(written()).toEqual([]);
    await turn();
    expect(written()).toEqual([[3_000, 1, 2, 3]]);
    read(4, 500);
    read(5, largeBytes);
    expect(written().slice(1)).toEqual([[500 + largeBytes, 4, 5]]);
    await turn();
    expect(taken).toHaveLength(2);
  });

  it('passes small reads on before its memory is full, and at the end of the connection', () => {
    setSink();
    for (let at = 0; at < 20; at += 1) read(at, 16_384);
    const sizeBytes = taken.reduce((sum, { piece }) => sum + piece.length, 0);
    expect(sizeBytes).toBeGreaterThan(200_000);
    socket.emit('end');
    expect(taken.flatMap(({ piece }) => [...piece])).toEqual(
      Array.from({ length: 20 }, (_, value) => Array(16_384).fill(value)).flat(),
    );
  });

  it('pauses when the sink takes no more of what was joined', async () => {
    setSink();
    goesOn = false;
    read(1, 10);
    await turn();
    expect([taken.length, socket.pauses]).toEqual([1, 1]);
  });

  it('copies what it reads without a sink, and with a sink that waits for earlier chunks', () => {
    read(1, 10);
    read(2, 10);
    setSink(false);
    buffer = undefined;
    read(3, 10);
    read(4, 10);
    expect(socket.pushed.map((piece) => [...piece])).toEqual([1, 2, 3, 4].map((it) => Array(10).fill(it)));
    expect(taken).toEqual([]);
  });

  it('gives what waits to no one when the sink was removed, as the edge does after the last byte', async () => {
    setSink();
    read(1, 10);
    reads.sink = undefined;
    await turn();
    expect(taken).toEqual([]);
  });
});
