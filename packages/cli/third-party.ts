import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the package that a module is from; undefined for one of this repository, or made by the bundler. */
const toPackageDir = (moduleId: string): string | undefined =>
  /^(\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(moduleId)?.[1];

const readLicense = (dir: string): string => {
  const name = readdirSync(dir).find((file) => /^licen[cs]e/i.test(file));
  return name === undefined ? '' : `\n${readFileSync(join(dir, name), 'utf8').trim()}\n`;
};

/**
 * The notices of the packages whose code is in a bundle, by the paths of its modules: name, version, license and its text, where
 * the package has that beside the code. Throws for a package that names no license.
 */
export function toNotices(moduleIds: readonly string[]): string {
  const dirs = new Set(moduleIds.flatMap((id) => toPackageDir(id) ?? []));
  const notices = [...dirs].map((dir) => {
    const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as {
      name: string;
      version: string;
      license?: string;
    };
    if (license === undefined) throw new Error(`${name} ${version} names no license`);
    return `${name} ${version}: ${license}\n${readLicense(dir)}`;
  });
  return notices.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
}
