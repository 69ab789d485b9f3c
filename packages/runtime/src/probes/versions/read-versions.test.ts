import { expect, it } from 'vitest';
import {
  parseKernelVersion,
  parseProgramVersion,
  readNodeVersion,
  readProgramVersion,
} from './read-versions.ts';

it.each([
  ['Linux version 6.18.44 (builder@host) (gcc 14) #1 SMP', '6.18.44'],
  [
    'Linux version 6.1.0-41-amd64 (debian-kernel@lists.debian.org) #1 SMP Debian 6.1.158-1 (2025-11-09)',
    '6.1.158',
  ],
  ['Linux version 6.17.8-200.fc42.x86_64 (mockbuild@host) #1 SMP', '6.17.8'],
  ['Linux version 6.8.0-60-generic (buildd@host) #63-Ubuntu SMP', undefined],
  ['Linux version 5.14.0-570.el9.x86_64 (mockbuild@host) #1 SMP', undefined],
])('the version of a kernel is that of its stable release: %s', (text, version) => {
  expect(parseKernelVersion(text)).toBe(version);
});

it.each([
  ['runsc version 0.0~20240729.0\nspec: 1.0.2-dev\n', '20240729'],
  ['runsc version release-20260824.0\n', '20260824'],
  ['Version: 4.2.1\n', '4.2.1'],
  ['no number\n', undefined],
])('the version of a program is read from what it prints: %j', (printed, version) => {
  expect(parseProgramVersion(printed)).toBe(version);
});

it('this host is asked', async () => {
  expect(readNodeVersion().version).toBe(process.versions.node);
  expect(await readProgramVersion(['no-such-program'])).toBeUndefined();
  expect((await readProgramVersion(['/usr/bin/setpriv']))?.version).toMatch(/^\d+\.\d+/);
});
