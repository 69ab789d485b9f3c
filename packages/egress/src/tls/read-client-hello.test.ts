import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { captureHello, splitIntoRecords, toHello } from '../testing/hello.ts';
import { MAX_HELLO_BYTES, readClientHello } from './read-client-hello.ts';

describe('readClientHello', () => {
  it('reads the name that Node sends, and returns none where it sends none', async () => {
    expect(readClientHello(await captureHello('api.example.com'))).toEqual({ serverName: 'api.example.com' });
    expect(readClientHello(await captureHello(undefined))).toEqual({ serverName: undefined });
  });

  it('needs more bytes for every part of a hello, and reads it in records of any size', () => {
    const hello = toHello({ serverNames: ['api.example.com'] });
    for (let length = 0; length < hello.length; length++) {
      const result = readClientHello(hello.subarray(0, length));
      expect(result).toMatchObject({ needs: expect.any(Number) });
      expect((result as { needs: number }).needs).toBeGreaterThan(length);
    }
    for (const size of [2, 3, 7, 100])
      expect(readClientHello(splitIntoRecords(hello, size))).toEqual({ serverName: 'api.example.com' });
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

  it('never throws, whatever arrives, and never asks for more than the limit', () => {
    const changed = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 8 })).map(([at, bytes]) => {
      const hello = toHello({ serverNames: ['api.example.com'], paddingBytes: 20 });
      hello.set(bytes, at % Math.max(1, hello.length - bytes.length));
      return hello;
    });
    const any = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(any, changed), (bytes) => {
        const result = readClientHello(bytes);
        if (typeof result === 'object' && 'needs' in result)
          return result.needs > bytes.length && result.needs <= MAX_HELLO_BYTES;
        return true;
      }),
      { numRuns: 5_000 },
    );
  });
});
