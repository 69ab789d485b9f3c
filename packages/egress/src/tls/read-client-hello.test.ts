import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { captureHello, splitIntoRecords, toHello } from '../testing/hello.ts';
import { createHelloReader, MAX_PIECES } from './read-client-hello.ts';

const readClientHello = (bytes: Buffer) => createHelloReader().read(bytes);
const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

describe('createHelloReader', () => {
  it('reads the name that Node sends, and returns none where it sends none', async () => {
    expect(readClientHello(await captureHello('api.example.com'))).toEqual({ serverName: 'api.example.com' });
    expect(readClientHello(await captureHello(undefined))).toEqual({ serverName: undefined });
  });

  it('waits for the rest of every part of a hello, and reads it in pieces and in records of any size', () => {
    const hello = toHello({ serverNames: ['api.example.com'] });
    for (let length = 0; length < hello.length; length++)
      expect(readClientHello(hello.subarray(0, length))).toBeUndefined();
    for (const size of [2, 3, 7, 100])
      for (const pieceBytes of [2, 5, 50]) {
        const reader = createHelloReader();
        const results = inPieces(splitIntoRecords(hello, size), pieceBytes).map((piece) =>
          reader.read(piece),
        );
        expect(results.pop()).toEqual({ serverName: 'api.example.com' });
        expect(new Set(results)).toEqual(new Set([undefined]));
      }
  });

  it('joins what has arrived once, however many pieces and records there are', () => {
    const concat = vi.spyOn(Buffer, 'concat');
    const records = splitIntoRecords(toHello({ serverNames: ['a.example'], paddingBytes: 60_000 }), 1_000);
    const pieces = inPieces(records, 300);
    concat.mockClear();
    const reader = createHelloReader();
    expect(pieces.map((piece) => reader.read(piece)).at(-1)).toEqual({ serverName: 'a.example' });
    expect(concat).toHaveBeenCalledTimes(1);
    concat.mockRestore();
  });

  it('rejects a hello in too many pieces', () => {
    const reader = createHelloReader();
    const pieces = inPieces(toHello({ serverNames: [], paddingBytes: MAX_PIECES }), 1);
    expect(
      pieces
        .slice(0, MAX_PIECES + 1)
        .map((piece) => reader.read(piece))
        .indexOf('malformed'),
    ).toBe(MAX_PIECES);
  });

  it('reads a hello of nearly 64 KiB and rejects a longer one before it has arrived', () => {
    const long = toHello({ serverNames: ['a.example'], paddingBytes: 60_000 });
    expect(readClientHello(splitIntoRecords(long, 16_384))).toEqual({ serverName: 'a.example' });
    const tooLong = splitIntoRecords(toHello({ serverNames: ['a.example'], paddingBytes: 66_000 }), 16_384);
    expect(readClientHello(tooLong.subarray(0, 16_389))).toBe('malformed');
  });

  it.each([
    ['one name twice', toHello({ serverNames: ['a.example', 'a.example'] })],
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a server hello', Buffer.from([22, 3, 3, 0, 4, 2, 0, 0, 0])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['a record that is too long', Buffer.from([22, 3, 1, 0x40, 1])],
    [
      'a second message behind the hello',
      splitIntoRecords(Buffer.concat([toHello({ serverNames: [] }), Buffer.of(22, 3, 1, 0, 1, 0)]), 500),
    ],
    ['more than 64 records', splitIntoRecords(toHello({ serverNames: [], paddingBytes: 200 }), 1)],
  ])('rejects %s', (_, bytes) => {
    expect(readClientHello(bytes)).toBe('malformed');
  });

  it('never throws, whatever arrives, and reads the same from one piece as from many', () => {
    const changed = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 8 })).map(([at, bytes]) => {
      const hello = toHello({ serverNames: ['api.example.com'], paddingBytes: 20 });
      hello.set(bytes, at % Math.max(1, hello.length - bytes.length));
      return hello;
    });
    const any = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(any, changed), fc.integer({ min: 1, max: 40 }), (bytes, size) => {
        const reader = createHelloReader();
        let result: ReturnType<typeof reader.read>;
        for (const piece of inPieces(bytes, size)) result ??= reader.read(piece);
        expect(result).toEqual(readClientHello(bytes));
      }),
      { numRuns: 5_000 },
    );
  });
});
