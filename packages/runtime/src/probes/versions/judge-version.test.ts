import { expect, it } from 'vitest';
import { judgeVersion } from './judge-version.ts';
import type { SafeVersions } from './safe-versions.ts';

const safe: SafeVersions = {
  program: 'runsc',
  least: ['1.2.8', '1.3.3'],
  lineNumbers: 2,
  reason: 'CVE-1: a defect',
  mend: 'upgrade it',
};

it('a safe version is named', () => {
  const about = { name: 'runsc version', ok: true, needed: false };
  expect(judgeVersion(safe, { version: '1.3.4' })).toEqual({ ...about, found: '1.3.4' });
});

it('an old one is a warning with its reason and its remedy', () => {
  expect(judgeVersion(safe, { version: '1.2.7' })).toEqual({
    name: 'runsc version',
    ok: false,
    needed: false,
    found: '1.2.7 is too old to be safe: 1.2.8, 1.3.3 fix CVE-1: a defect',
    mend: 'upgrade it',
  });
});

it('of one without a number, it says that it is unknown', () => {
  expect(judgeVersion(safe, { version: undefined })).toMatchObject({
    ok: true,
    found: expect.stringMatching(/^unknown .*upgrade it$/),
  });
});
