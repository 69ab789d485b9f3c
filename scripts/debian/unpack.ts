import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { listMissing, runOrThrow } from './apt.ts';

/**
 * Only the parts of a server and its libraries are needed to start it. The others serve scripts of the installation, and
 * LLVM the compiler of queries, which tests switch off.
 */
const isNeeded = (name: string, dependency: string): boolean =>
  dependency.startsWith(name) || /^lib(?!llvm|z3-|perl|.*-perl=)/.test(dependency);

/**
 * Fetches a package with the libraries that this host lacks, verified as apt does, and unpacks them into a folder of that name. Nothing is
 * installed: no user is made, no service is known to the host. The folder appears when it is whole.
 */
export function unpackPackage(name: string, parent: string): void {
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, '.new-'));
  try {
    const packages = listMissing(name).filter((dependency) => isNeeded(name, dependency));
    runOrThrow('apt-get', ['download', '-qq', ...packages], work);
    const root = join(work, 'root');
    mkdirSync(root);
    for (const file of globSync(join(work, '*.deb'))) runOrThrow('dpkg-deb', ['--extract', file, root]);
    rmSync(join(parent, name), { recursive: true, force: true });
    renameSync(root, join(parent, name));
  } finally {
    rmSync(work, { recursive: true });
  }
}
