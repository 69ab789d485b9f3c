import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAddressAnswer, readQuery, writeAddressQuery, writeAnswer } from './messages.ts';

const toQuery = (type: string, name = 'Api.Example.com') =>
  encode({ type: 'query', id: 7, flags: 256, questions: [{ type: type as 'A', class: 'IN', name }] });

describe('readQuery', () => {
  it('reads one question, also of a type without a name', () => {
    expect(readQuery(toQuery('A'))).toEqual({ id: 7, name: 'Api.Example.com', type: 'A' });
    const other = toQuery('A');
    other.writeUInt16BE(65, other.length - 4);
    expect(readQuery(other)).toEqual({ id: 7, name: 'Api.Example.com', type: 'UNKNOWN_65' });
  });

  it('returns undefined for a response, two questions, another class, and too few bytes', () => {
    const question = { type: 'A', class: 'IN', name: 'a.example' } as const;
    for (const message of [
      encode({ type: 'response', id: 7, questions: [question] }),
      encode({ type: 'query', id: 7, questions: [question, question] }),
      encode({ type: 'query', id: 7, questions: [{ ...question, class: 'CH' }] }),
      Buffer.alloc(3),
    ])
      expect(readQuery(message)).toBeUndefined();
  });

  const options = { type: 'OPT', name: '.', udpPayloadSize: 1_232 } as const;
  const withOptions = (records: object[]): Buffer =>
    encode({
      ...{ type: 'query', id: 7, questions: [{ type: 'A', class: 'IN', name: 'a.example' }] },
      additionals: records as [],
    });

  it('reads a query with the options of EDNS', () => {
    expect(readQuery(withOptions([options]))).toMatchObject({ name: 'a.example' });
  });

  it('returns undefined for a query that is too long, or whose header claims other records', () => {
    const answer = { type: 'A', name: 'a.example', ttl: 1, data: '1.2.3.4' } as const;
    const claims = [4, 6, 8, 10].map((at) => {
      const message = toQuery('A');
      message.writeUInt16BE(2, at);
      return message;
    });
    const messages = [
      ...claims,
      encode({ type: 'query', questions: [{ type: 'A', name: 'a.example' }], authorities: [answer] }),
      withOptions([options, options]),
      Buffer.concat([toQuery('A'), Buffer.alloc(512)]),
    ];
    for (const message of messages) expect(readQuery(message)).toBeUndefined();
  });

  it('never throws, whatever arrives', () => {
    const changed = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 8 })).map(([at, bytes]) => {
      const message = toQuery('A');
      message.set(bytes, at % Math.max(1, message.length - bytes.length));
      return message;
    });
    const any = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(any, changed), (bytes) => {
        const query = readQuery(bytes);
        if (query !== undefined) writeAnswer(query, { code: 'NXDOMAIN' });
        readAddressAnswer(bytes, { id: 7, name: 'api.example.com' });
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('writeAnswer', () => {
  it('repeats the question as it was written, and fits into 512 bytes', () => {
    const query = { id: 9, name: `${'a'.repeat(60)}.Example.com`, type: 'A' };
    const addresses = Array.from({ length: 40 }, (_, index) => `1.2.3.${index}`);
    const message = writeAnswer(query, { code: 'NOERROR', addresses, ttlSeconds: 30 });
    expect(message.length).toBeLessThanOrEqual(512);
    expect(decode(message)).toMatchObject({ id: 9, rcode: 'NOERROR', questions: [{ name: query.name }] });
    expect(decode(message).answers?.[0]).toMatchObject({ type: 'A', ttl: 30, data: '1.2.3.0' });
  });
});

describe('readAddressAnswer', () => {
  const asked = { id: 7, name: 'api.example.com' };
  const toAnswer = (answers: object[], extra: object = {}): Buffer =>
    encode({
      ...{ type: 'response', id: 7, flags: 0, ...extra },
      questions: [{ type: 'A', class: 'IN', name: 'api.example.com' }],
      answers: answers as [],
    });

  it('follows aliases in any order, and takes no address of another name', () => {
    const alias = { type: 'CNAME', name: 'api.example.com', ttl: 20, data: 'edge.example.net' };
    const address = { type: 'A', name: 'edge.example.net', ttl: 60, data: '1.2.3.4' };
    const foreign = { type: 'A', name: 'other.example', ttl: 1, data: '6.6.6.6' };
    for (const answers of [
      [alias, address, foreign],
      [foreign, address, alias],
    ])
      expect(readAddressAnswer(toAnswer(answers), asked)).toEqual({
        code: 'NOERROR',
        addresses: ['1.2.3.4'],
        ttlSeconds: 20,
      });
  });

  it('returns what the server says of the name, and undefined for an answer to another query', () => {
    expect(readAddressAnswer(toAnswer([], { flags: 3 }), asked)).toEqual({ code: 'NXDOMAIN' });
    expect(readAddressAnswer(toAnswer([], { flags: 5 }), asked)).toEqual({ code: 'SERVFAIL' });
    expect(readAddressAnswer(toAnswer([], { flags: 0x200 }), asked)).toBe('truncated');
    expect(readAddressAnswer(toAnswer([]), { ...asked, id: 8 })).toBeUndefined();
    expect(readAddressAnswer(toAnswer([]), { ...asked, name: 'b.example' })).toBeUndefined();
    expect(readAddressAnswer(writeAddressQuery(7, asked.name), asked)).toBeUndefined();
  });
});
