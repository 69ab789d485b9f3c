import { describe, expect, it } from 'vitest';
import { addAddress, bringUp } from '../network/link.ts';
import {
  parseAnswers,
  parseAttributes,
  parseList,
  toAttribute,
  toMessages,
  toText,
} from './netlink-message.ts';

/** An answer as the kernel writes it: its header, the error, and the header of the request. */
function toAnswer(sequence: number, errno: number): Buffer {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt32LE(36, 0);
  bytes.writeUInt16LE(2, 4);
  bytes.writeUInt32LE(sequence, 8);
  bytes.writeInt32LE(-errno, 16);
  return bytes;
}

describe('netlink messages', () => {
  it('pads attributes to 4 bytes and counts only what they hold', () => {
    expect(toAttribute(3, toText('skv1')).toString('hex')).toBe('09000300736b763100000000');
  });

  it('writes requests one after the other, numbered, each with the flag that asks for an answer', () => {
    const bytes = toMessages([bringUp(1), addAddress(7, '10.201.0.1')]);
    expect(bytes.toString('hex')).toBe(
      [
        // Length, type, flags, number, port; then family and type, index, flags, mask.
        '20000000' + '1000' + '0500' + '01000000' + '00000000',
        '00000000' + '01000000' + '01000000' + '01000000',
        // Length, type, flags with create and exclusive; family, prefix, index; local and other address.
        '28000000' + '1400' + '0506' + '02000000' + '00000000',
        '02200000' + '07000000' + '080002000ac90001' + '080001000ac90001',
      ].join(''),
    );
  });

  it('reports which request failed, and with which error', () => {
    expect(parseAnswers(Buffer.concat([toAnswer(1, 0), toAnswer(2, 17)]))).toEqual([
      { index: 0, errno: 0 },
      { index: 1, errno: 17 },
    ]);
  });

  it('stops at an impossible length', () => {
    expect(parseAnswers(Buffer.alloc(64))).toEqual([]);
  });

  it('reads a list in parts, up to its end or its error', () => {
    const entry = (type: number, body: string): Buffer => {
      const bytes = Buffer.alloc(16 + body.length);
      bytes.writeUInt32LE(bytes.length, 0);
      bytes.writeUInt16LE(type, 4);
      bytes.write(body, 16);
      return bytes;
    };
    const done = entry(3, '\0\0\0\0');
    const part = Buffer.concat([entry(20, 'one!'), entry(20, 'two!')]);
    expect(parseList(part, 20)).toEqual({
      bodies: [Buffer.from('one!'), Buffer.from('two!')],
      isLast: false,
    });
    expect(parseList(done, 20)).toEqual({ bodies: [], isLast: true });
    expect(() => parseList(toAnswer(1, 1), 20)).toThrow('EPERM');
  });

  it('reads attributes as they are written', () => {
    const attributes = Buffer.concat([toAttribute(0, Buffer.from('name!')), toAttribute(3, Buffer.alloc(8))]);
    expect([...parseAttributes(attributes)]).toEqual([
      [0, Buffer.from('name!')],
      [3, Buffer.alloc(8)],
    ]);
    expect([...parseAttributes(Buffer.alloc(8))]).toEqual([]);
  });
});
