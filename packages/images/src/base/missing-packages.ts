import type { BaseContents } from './contents.ts';
import { addLocales } from './locales.ts';
import { type BaseRecipe, baseRecipes } from './recipe.ts';
import { isRootfsFile } from './rootfs-file.ts';

/** Debian packages of a base template that an image lacks. */
export function findMissing(rootfs: string, { packages }: BaseRecipe): string[] {
  return Object.entries(packages)
    .filter(([, file]) => !isRootfsFile(rootfs, file))
    .map(([name]) => name);
}

/** What a build has of its own, which is in no image: lists and caches of packages, keys, logs and what is temporary. */
const clear = [
  'rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig/* /var/cache/debconf/*-old /tmp/* /var/tmp/*',
  'rm -f /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- /etc/subuid- /etc/subgid- /etc/ssh/ssh_host_*',
  'find /var/log -type f -exec truncate -s 0 {} + || true',
  ': > /etc/machine-id',
];

/**
 * A script for the shell of an image that installs these packages with its apt. It runs programs of the image: only a sandbox may
 * run it, as root.
 */
export const toInstallScript = (contents: BaseContents, packages: readonly string[]): string =>
  [
    'set -e',
    'export DEBIAN_FRONTEND=noninteractive',
    // Without a list of a source, the install would only say that there is no such package.
    'apt-get update -q -o APT::Update::Error-Mode=any',
    `apt-get install -q -y --no-install-recommends -- ${packages.join(' ')}`,
    addLocales(baseRecipes[contents]),
    ...clear,
  ].join('\n');
