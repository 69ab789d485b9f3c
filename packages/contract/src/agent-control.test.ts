import { describe, expect, it } from 'vitest';
import {
  parseLogQuery,
  parseStandInQuery,
  parseUnpackQuery,
  toLogQuery,
  toStandInQuery,
  toUnpackQuery,
} from './agent-control.ts';

describe('the query of GET /logs', () => {
  it('parses what it wrote, also when the origin contains a colon', () => {
    const follow = { after: { origin: 'a:b', seq: 3 }, follow: true };
    expect(parseLogQuery(toLogQuery(follow))).toEqual(follow);
    const rest = { after: undefined, follow: false };
    expect(parseLogQuery(toLogQuery(rest))).toEqual(rest);
  });

  it.each(['after=a', 'after=:1', 'after=a:0', 'after=a:x', 'after=a:1.5'])(
    'reads no position from "%s"',
    (query) => {
      expect(parseLogQuery(query)).toEqual({ after: undefined, follow: false });
    },
  );

  it('does not follow without a query', () => {
    expect(parseLogQuery(undefined)).toEqual({ after: undefined, follow: false });
  });
});

describe('the query of POST /stand-in', () => {
  it.each([undefined, { mode: 0o1777, uid: 0, gid: 5 }])(
    'parses what it wrote, with the folder %j',
    (folder) => {
      const request = { target: '/a b/&c=%20', folder };
      expect(parseStandInQuery(toStandInQuery(request))).toEqual(request);
    },
  );
});

describe('the query of POST /unpack', () => {
  it.each([undefined, '0', 'u=rwX,go=rX'])('parses what it wrote, with the mode %s', (mode) => {
    const source = 'a folder/[id]&x=%20+é';
    const flags = { intoFolder: true, keepsOwners: mode === '0', overwritesFolders: mode === undefined };
    const request = { source, destination: '/to', ...flags, owner: 'user:2001', mode };
    expect(parseUnpackQuery(toUnpackQuery(request))).toEqual(request);
  });
});
