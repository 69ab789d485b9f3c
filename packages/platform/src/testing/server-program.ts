import { globSync } from 'node:fs';
import { join } from 'node:path';
import { unpackedPackages } from './unpacked-packages.ts';

/** Debian package → its program, as a pattern below the root of a file system. */
export const serverPrograms = {
  // The script `usr/bin/chromium` looks for it below `/usr/lib` alone.
  chromium: 'usr/lib/chromium/chromium',
  'docker-registry': 'usr/bin/docker-registry',
  knot: 'usr/sbin/knotd',
  'libnss3-tools': 'usr/bin/certutil',
  'nghttp2-client': 'usr/bin/h2load',
  nginx: 'usr/sbin/nginx',
  pebble: 'usr/bin/pebble',
  postgresql: 'usr/lib/postgresql/*/bin/initdb',
} as const;

export interface ServerProgram {
  path: string;
  /** The root of the file system that its package is in: `/`, or the folder of the unpacked one. */
  root: string;
  /** Variables with which it finds its libraries. */
  env: Readonly<Record<string, string>>;
}

/** The newest program of that package: the installed one, or else the unpacked one. Undefined when there is neither. */
export function findServerProgram(name: keyof typeof serverPrograms): ServerProgram | undefined {
  const own = join(unpackedPackages, name);
  for (const root of ['/', own]) {
    const [newest] = globSync(join(root, serverPrograms[name])).toSorted((a, b) =>
      b.localeCompare(a, 'en', { numeric: true }),
    );
    if (newest === undefined) continue;
    const libraries = root === own ? globSync(join(own, 'usr/lib/*-linux-gnu{,/pulseaudio}')) : [];
    return { path: newest, root, env: libraries.length > 0 ? { LD_LIBRARY_PATH: libraries.join(':') } : {} };
  }
  return undefined;
}
