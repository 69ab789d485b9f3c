import { expect, it } from 'vitest';
import { judgeVersion } from './judge-version.ts';
import type { SafeVersions } from './safe-versions.ts';

const safe: SafeVersions = {
  program: 'runc',
  least: ['1.2.8', '1.3.3'],
  lineNumbers: 2,
  reason: 'CVE-1: a defect',
  mend: 'upgrade it',
  isPatchedByDistributions: true,
};

it('a safe version is named', () => {
  const about = { name: 'runc version', ok: true, needed: false };
  expect(judgeVersion(safe, { version: '1.3.4' })).toEqual({ ...about, found: '1.3.4' });
  expect(judgeVersion(safe, { version: '1.2.8', packaged: 'runc 1.2.8+ds1-1' }).found).toBe(
    '1.2.8, package runc 1.2.8+ds1-1',
  );
});

it('an old one is a warning with its reason and its remedy', () => {
  expect(judgeVersion(safe, { version: '1.2.7' })).toEqual({
    name: 'runc version',
    ok: false,
    needed: false,
    found: '1.2.7 is too old to be safe: 1.2.8, 1.3.3 fix CVE-1: a defect',
    mend: 'upgrade it',
  });
});

it('of an old one that a distribution may have patched, and of one without a number, it says that it is unknown', () => {
  for (const found of [{ version: '1.1.5', packaged: 'runc 1.1.5+ds1-1+deb12u1' }, { version: undefined }])
    expect(judgeVersion(safe, found)).toMatchObject({
      ok: true,
      found: expect.stringMatching(/^unknown .*upgrade it$/),
    });
  const unpatched = { ...safe, isPatchedByDistributions: false };
  expect(judgeVersion(unpatched, { version: '1.1.5', packaged: 'runc 1.1.5-1' }).ok).toBe(false);
});
