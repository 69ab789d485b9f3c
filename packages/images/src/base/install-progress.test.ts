import { expect, it } from 'vitest';
import { createInstallProgress } from './install-progress.ts';

it('reports each step of mmdebstrap, and how much of the packages is installed', () => {
  const seen: string[] = [];
  const read = createInstallProgress(({ message, fraction = 0 }) =>
    seen.push(`${message} ${Math.round(fraction * 100)}`),
  );
  for (const line of [
    'I: running apt-get update...',
    'Get:1 http://deb.debian.org/debian bookworm InRelease',
    'I: installing essential packages...',
    'Unpacking tar',
    'I: installing remaining packages inside the chroot...',
    '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.',
    'Unpacking git (1:2.39) ...',
    'Setting up git (1:2.39) ...',
    'Unpacking jq (1.6) ...',
    'Setting up jq (1.6) ...',
    'I: cleaning package lists and apt cache...',
  ])
    read(line);
  expect(seen).toEqual([
    'reading the package lists 2',
    'installing the essential packages 15',
    'installing python, git and the others 35',
    'installing python, git and the others 35',
    'installing python, git and the others 49',
    'installing python, git and the others 63',
    'installing python, git and the others 76',
    'installing python, git and the others 90',
    'cleaning up 90',
  ]);
});
