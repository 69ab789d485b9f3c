import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { listMissing, runOrThrow } from './apt.ts';

/**
 * Only the parts of a server and its libraries are needed to start it. The others serve scripts of the installation, and
 * LLVM the compiler of queries, which tests switch off.
 */
const isNeeded = (name: string, dependency: string): boolean =>
  dependency.startsWith(name) || /^lib(?!llvm|z3-|perl|.*-perl=)/.test(dependency);

/** Libraries of Python that the base image lacks: it has an interpreter, and what that and apt depend on. */
const isForBaseImage = (dependency: string): boolean =>
  /^(python3-(?!minimal)|lib(bsd|md|norm|pgm|sodium|zmq))/.test(dependency);

/** Unpacks a server with the libraries that this host lacks. */
export function unpackServer(name: string, parent: string): void {
  unpack(
    name,
    parent,
    listMissing(name).filter((dependency) => isNeeded(name, dependency)),
  );
}

/** Unpacks a library of Python with what the base image lacks, whatever is installed on this host. */
export function unpackForSandboxes(name: string, parent: string): void {
  unpack(name, parent, listMissing(name, { onEmptyHost: true }).filter(isForBaseImage));
}

/**
 * Fetches packages, verified as apt does, and unpacks them into the folder `name`. Nothing is installed: no user is made, no service is
 * known to the host. The folder appears when it is whole.
 */
function unpack(name: string, parent: string, packages: readonly string[]): void {
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, '.new-'));
  try {
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
