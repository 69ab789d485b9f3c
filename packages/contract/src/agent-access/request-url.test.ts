import { expect, it } from 'vitest';
import { parseRequestUrl, withoutSignature } from './request-url.ts';

it.each([
  ['/files', '/files'],
  ['/files?', '/files'],
  ['/files?path=a', '/files?path=a'],
  ['/files?signature=v1_x', '/files'],
  [
    '/files?path=%61%20b+c&signature=v1_x%3D&username=a&signature_expiration=1',
    '/files?path=a+b+c&username=a',
  ],
  ['/files?%73ignature=v1_x&signature%5Fexpiration=1&path=a', '/files?path=a'],
  ['/files?signature&path=signature&x=signature_expiration', '/files?path=signature&x=signature_expiration'],
  ['/files?path=a?signature=b&signatures=c', '/files?path=a%3Fsignature%3Db&signatures=c'],
  ['/files??signature=b&path=a', '/files?path=a'],
  ['/files?signature=b&?path=a', '/files?%3Fpath=a'],
  ['/%66iles?signature=b', '/%66iles'],
  ['*', '*'],
])('A signature is removed from the query of a URL: %s', (url, rest) => {
  expect(withoutSignature(parseRequestUrl(url))).toBe(rest);
});

/** Parts of a query, in the spellings that readers of queries do not agree on. */
const parts = [
  ...['path=a', 'path=/etc/shadow', '?path=b', '%3Fpath=c', 'p%61th=d', 'path', 'path=', '=e', '=', ''],
  ...[
    'username=user',
    '?username=root',
    'username=a+b%2Bc%20d',
    'path=%00',
    'path=%',
    'path=%zz',
    'path=%ff%c3',
  ],
  ...[
    'path=a#b',
    '#path=f',
    'x;path=g',
    'path=h;username=i',
    'path=\u00fc',
    '\u00a0path=j',
    'path=%26path=k',
    'a=b=c?d',
  ],
  ...[
    'signature=s',
    '?signature=s',
    '%73ignature=s',
    'signature',
    'signature_expiration=1',
    '%26signature=s',
  ],
];
const queries = parts.flatMap((first) =>
  parts.flatMap((second) => ['', ...parts].map((third) => [first, second, third].join('&'))),
);

it('The parameters that are left are the same for the next reader, however the query is spelled', () => {
  const differing = queries.filter((query) => {
    const asked = parseRequestUrl(`/files?${query}`);
    const expected = [...asked.query].filter(
      ([name]) => name !== 'signature' && name !== 'signature_expiration',
    );
    const forwarded = withoutSignature(asked);
    const { path, query: left } = parseRequestUrl(forwarded);
    const { pathname, searchParams } = new URL(forwarded, 'http://agent.test');
    const read = [path, pathname, [...left], [...searchParams]];
    return JSON.stringify(read) !== JSON.stringify(['/files', '/files', expected, expected]);
  });
  expect(differing).toEqual([]);
});

it('The URL that was taken apart stays as it is', () => {
  const asked = parseRequestUrl('/files?signature=s&path=a');
  withoutSignature(asked);
  expect([asked.path, ...asked.query]).toEqual(['/files', ['signature', 's'], ['path', 'a']]);
});
