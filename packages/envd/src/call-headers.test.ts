import { describe, expect, it } from 'vitest';
import { CallHeaders } from './call-headers.ts';

describe('CallHeaders', () => {
  it('does what the Headers of the platform do', () => {
    const record = (headers: Headers | CallHeaders): unknown[] => {
      headers.append('X-Two', ' b ');
      headers.set('x-three', 'c');
      headers.delete('X-FOUR');
      const visited: string[] = [];
      headers.forEach((value, name) => {
        visited.push(`${name}=${value}`);
      });
      return [
        [...headers],
        [...headers.keys()],
        [...headers.values()],
        headers.get('x-TWO'),
        headers.get('x-four'),
        headers.has('x-one'),
        headers.has('x-four'),
        visited,
      ];
    };
    const init = { 'x-two': 'a', 'X-One': '1', 'x-four': 'd' };
    expect(record(new CallHeaders(init))).toEqual(record(new Headers(init)));
    expect(record(new CallHeaders(Object.entries(init)))).toEqual(record(new Headers(init)));
    expect(record(new CallHeaders(new CallHeaders(init)))).toEqual(record(new Headers(init)));
  });
});
