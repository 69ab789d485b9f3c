import { describe, expect, it } from 'vitest';
import { parseCursor, toCursor } from './cursor.ts';

describe('cursor', () => {
  const position = { startedAt: 1_795_168_800_123, id: 'i4k2m9x7q1w8e3r5t6y0z' };

  it('parses what it wrote', () => {
    expect(parseCursor(toCursor(position, 'asc'), 'asc')).toEqual(position);
    expect(toCursor(position, 'desc')).toMatch(/^[\w-]+$/);
  });

  it('refuses a token of the other order', () => {
    expect(() => parseCursor(toCursor(position, 'asc'), 'desc')).toThrow(/belongs to order "asc"/);
  });

  const foreign = [
    '',
    'x',
    'e30',
    Buffer.from('asc:12:').toString('base64url'),
    Buffer.from('asc:-1:i1').toString('base64url'),
    Buffer.from('asc:1234567890123456:i1').toString('base64url'),
    Buffer.from(`asc:1:${'i'.repeat(41)}`).toString('base64url'),
    Buffer.from('asc:1:i+1').toString('base64url'),
    Buffer.from('asc:1:é').toString('base64url'),
    Buffer.from('both:1:i1').toString('base64url'),
  ];
  for (const text of foreign) {
    it(`refuses "${text}"`, () => {
      expect(() => parseCursor(text, 'asc')).toThrow(/was not issued by this server/);
    });
  }
});
