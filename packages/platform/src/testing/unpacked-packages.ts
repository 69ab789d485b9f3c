import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Where `scripts/system-packages.ts` unpacks the Debian packages of servers that tests start, and of programs that tests copy into
 * sandboxes. Installed, servers would run as services of the host. A folder for each package.
 */
export const unpackedPackages = join(import.meta.dirname, '../../../../.toolchain/debian');

/**
 * Debian package whose programs tests run in sandboxes → a file of it, below the root of a file system. It is the one of this host's
 * release, which must be that of the base image.
 */
export const sandboxPackages = {
  'python3-ipykernel': 'usr/lib/python3/dist-packages/ipykernel/__init__.py',
} as const;

/** The folder of that package and its dependencies, a root of a file system. Undefined when it is not unpacked. */
export function findSandboxPackage(name: keyof typeof sandboxPackages): string | undefined {
  const root = join(unpackedPackages, name);
  return existsSync(join(root, sandboxPackages[name])) ? root : undefined;
}
