import { describe, expect, it } from 'vitest';
import { PlainHeaders } from './plain-headers.ts';

/** Everything that both must agree on, done to either of them. */
const use = (Kind: typeof PlainHeaders | typeof Headers): unknown => {
  const headers = new Kind({ 'Content-Type': 'text/plain', 'x-a': '1' });
  headers.append('X-A', '2');
  headers.set('b', 'old');
  headers.set('B', 'new');
  headers.append('gone', 'x');
  headers.delete('GONE');
  const seen: string[] = [];
  headers.forEach((value: string, name: string) => {
    seen.push(`${name}=${value}`);
  });
  return {
    seen: seen.sort(),
    got: [headers.get('X-a'), headers.get('none'), headers.has('b'), headers.has('gone')],
    copied: Object.fromEntries(new Kind(headers as never)),
    fromPairs: [
      ...new Kind([
        ['A', '1'],
        ['a', '2'],
      ]).entries(),
    ],
    empty: [...new Kind().keys()],
    values: [...new Kind({ k: 'v' }).values()],
  };
};

describe('PlainHeaders', () => {
  it('does what the built-in Headers does', () => {
    expect(use(PlainHeaders)).toEqual(use(Headers));
  });
});
