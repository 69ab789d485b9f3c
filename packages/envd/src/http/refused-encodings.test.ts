import { describe, expect, it } from 'vitest';
import { type ContentEncoding, chooseContentEncoding } from './content-encoding.ts';

const small = { sizeBytes: 100, identityOnly: false };
const large = { sizeBytes: 2 ** 20 + 1, identityOnly: false };
const choose = (header: string | undefined, options = small): ContentEncoding | 'refused' => {
  try {
    return chooseContentEncoding(header === undefined ? {} : { 'accept-encoding': header }, options);
  } catch (error) {
    expect(error).toMatchObject({ code: 'not_acceptable' });
    return 'refused';
  }
};

describe('the encoding of a file', () => {
  it.each<[string | undefined, ContentEncoding | 'refused']>([
    [undefined, 'identity'],
    ['', 'identity'],
    [', ,', 'identity'],
    ['br', 'identity'],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['deflate, gzip;q=0.001', 'gzip'],
    // Identity wins where weights are equal.
    ['*', 'identity'],
    ['gzip, *', 'identity'],
    ['gzip, identity', 'identity'],
    ['gzip, identity;q=0.9', 'gzip'],
    ['gzip;q=0.5, identity;q=0.9', 'identity'],
    ['gzip, *;q=0.5', 'gzip'],
    // What is named is not what the star stands for.
    ['gzip;q=0, *', 'identity'],
    ['*, gzip;q=0', 'identity'],
    ['x-gzip;q=0, *', 'identity'],
    ['gzip;q=0, *;q=0', 'refused'],
    ['gzip;q=0, identity;q=0, *', 'refused'],
    ['identity;q=0, *', 'gzip'],
    ['identity;q=0', 'refused'],
    ['*;q=0', 'refused'],
    ['*;q=0, gzip', 'gzip'],
    ['*;q=0, identity', 'identity'],
    ['gzip;q=much', 'identity'],
    ['gzip;level=9;q=0', 'identity'],
    ['gzip ; Q=0.4 , identity ; q=0.3', 'gzip'],
  ])('asked for by %j is %s', (header, expected) => {
    expect(choose(header)).toBe(expected);
  });

  it('is gzip for a large one only when that was asked for by weight', () => {
    expect(choose('gzip', { ...small, sizeBytes: 2 ** 20 })).toBe('gzip');
    expect(choose('gzip', large)).toBe('identity');
    expect(choose('gzip, identity;q=0.5', large)).toBe('gzip');
    expect(choose('gzip, identity;q=0', large)).toBe('gzip');
  });

  it('is never gzip where only identity can be sent, which a caller may forbid', () => {
    expect(choose('gzip', { ...small, identityOnly: true })).toBe('identity');
    expect(choose('identity;q=0, gzip', { ...small, identityOnly: true })).toBe('refused');
  });
});
