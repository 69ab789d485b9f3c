import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeBusyboxFolder } from './debian-registry.ts';

/** A folder with programs of this host in `bin`, the shared libraries that they name and their loader. */
export function makeGlibcFolder(programs: readonly string[]): string {
  const folder = makeBusyboxFolder([]);
  rmSync(join(folder, 'bin/busybox'));
  for (const name of programs) {
    const path = execFileSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).trim();
    copyFileSync(path, join(folder, 'bin', name));
    const libraries = execFileSync('ldd', [path], { encoding: 'utf8' });
    const found = Array.from(libraries.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm), ([, one = '']) => one);
    if (found.length === 0) throw new Error(`${path} names no library`);
    for (const library of found) copyInto(folder, library);
  }
  return folder;
}

/** A folder with a program of C that is linked with the shared library of Debian's musl, that library, and a shell of busybox. */
export function makeMuslFolder(
  program: { name: string; source: string },
  applets: readonly string[],
): string {
  const folder = makeBusyboxFolder(applets);
  const path = join(folder, 'bin', program.name);
  const work = mkdtempSync(join(tmpdir(), 'skerry-program-'));
  try {
    writeFileSync(join(work, 'program.c'), program.source);
    execFileSync('musl-gcc', ['-o', path, join(work, 'program.c')]);
  } finally {
    rmSync(work, { recursive: true });
  }
  const headers = execFileSync('readelf', ['--program-headers', path], { encoding: 'utf8' });
  const loader = /interpreter: (\/lib\/ld-musl-\w+\.so\.1)\]/.exec(headers)?.[1];
  if (loader === undefined) throw new Error(`${path} is not linked with the library of musl`);
  copyInto(folder, loader);
  return folder;
}

/** Copies a file of the host to the same place in a folder. */
function copyInto(folder: string, path: string): void {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(path, target);
}
