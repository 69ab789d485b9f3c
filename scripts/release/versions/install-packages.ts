import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run.ts';
import { ownImages } from '../start-service.ts';
import { toToolVariables } from '../tool-variables.ts';

/** A project of a user with the packages of one revision. */
export interface Installed {
  /** The revision in words of people. */
  name: string;
  /** Path of the project. */
  folder: string;
  /** Path of its command `skerry`. */
  skerry: string;
  /** Where a server of it has its data. */
  data: string;
  /** Where such a server has base images and fetched programs: each revision changes what another has made. */
  images: string;
}

const root = join(import.meta.dirname, '../../..');
const published = ['platform-client', 'envd-client', 'sdk', 'cli'];

/** Installs the packages of this checkout, which are built, into a new project in `folder`. */
export function installCheckout(folder: string): Installed {
  return { ...install('this checkout', { sources: root, folder }), images: ownImages };
}

/**
 * Builds the packages of a revision in a copy of its files, with the tools that it pins, and installs them into a new project in
 * `folder`. Throws when there is no such revision.
 */
export function installRevision(ref: string, folder: string): Installed {
  const sources = join(folder, 'sources');
  mkdirSync(sources, { recursive: true });
  const archive = join(folder, 'sources.tar');
  const commit = run('git', ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], { cwd: root });
  run('git', ['archive', '--output', archive, commit.trim()], { cwd: root });
  run('tar', ['--extract', '--file', archive, '--directory', sources], { cwd: root });
  run('node', ['scripts/run.mjs', 'setup'], { cwd: sources });
  return install(ref, { sources, folder });
}

function install(name: string, { sources, folder }: { sources: string; folder: string }): Installed {
  const env = toToolVariables(sources);
  run('turbo', ['run', 'build', '--filter=skerry', '--filter=@skerry/*', '--output-logs=errors-only'], {
    cwd: sources,
    env,
  });
  const tarballs = join(folder, 'tarballs');
  const project = join(folder, 'project');
  mkdirSync(tarballs, { recursive: true });
  mkdirSync(project);
  for (const each of published)
    run('pnpm', ['pack', '--pack-destination', tarballs], { cwd: join(sources, 'packages', each), env });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const files = readdirSync(tarballs).map((file) => join(tarballs, file));
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...files], { cwd: project });
  return {
    name,
    folder: project,
    skerry: join(project, 'node_modules/.bin/skerry'),
    data: join(folder, 'data'),
    images: join(folder, 'images'),
  };
}
