import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseMetadataFilter } from './metadata-filter.ts';

interface Vector {
  title: string;
  query: string;
  value: string;
  result: [string, string][] | { status: number };
}

const file = new URL('../../../../specs/vectors/metadata-filters.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Vector[] };

describe('parseMetadataFilter', () => {
  for (const { title, query, value, result } of cases) {
    const outcome = Array.isArray(result) ? 'reads' : `refuses with ${result.status}`;
    it(`${outcome} ${title}`, () => {
      const decoded = new URLSearchParams(query).get('metadata') ?? undefined;
      expect(decoded ?? '').toBe(value);
      if (Array.isArray(result)) expect(parseMetadataFilter(decoded)).toEqual(result);
      else
        expect(() => parseMetadataFilter(decoded)).toThrow(
          expect.objectContaining({ status: result.status }),
        );
    });
  }

  it('accepts a key twice, which no sandbox matches', () => {
    expect(parseMetadataFilter('user=ann&user=bob')).toEqual([
      ['user', 'ann'],
      ['user', 'bob'],
    ]);
  });

  it('refuses more pairs than a sandbox can have', () => {
    const pairs = Array.from({ length: 256 }, () => 'a=b');
    expect(parseMetadataFilter(pairs.join('&'))).toHaveLength(256);
    expect(() => parseMetadataFilter([...pairs, 'a=b'].join('&'))).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining('at most 256 pairs') }),
    );
  });

  it('keeps a key that has a meaning in JavaScript', () => {
    expect(parseMetadataFilter('__proto__=x')).toEqual([['__proto__', 'x']]);
  });
});
