import { createHash } from 'node:crypto';

/**
 * What `base` must contain: Debian package → a file that shows that it is installed in any way. `python-is-python3`
 * provides `python`, `passwd` the tools that manage accounts.
 */
export const basePackages: Readonly<Record<string, string>> = {
  bash: '/bin/bash',
  'ca-certificates': '/etc/ssl/certs/ca-certificates.crt',
  coreutils: '/usr/bin/stat',
  curl: '/usr/bin/curl',
  git: '/usr/bin/git',
  iproute2: '/bin/ip',
  'ncurses-bin': '/usr/bin/tput',
  passwd: '/usr/sbin/useradd',
  procps: '/bin/ps',
  python3: '/usr/bin/python3',
  'python-is-python3': '/usr/bin/python',
  sudo: '/usr/bin/sudo',
};

/**
 * Raise it with every change of what the code in this folder makes, so that images of an older recipe are made anew.
 */
const recipeVersion = 1;

/** The name of the build: equal for equal code and options, on every host. 16 hex digits. */
export function toRecipeDigest({ registryImage }: { registryImage?: string | undefined }): string {
  return createHash('sha256')
    .update(JSON.stringify([recipeVersion, Object.keys(basePackages).toSorted(), registryImage ?? null]))
    .digest('hex')
    .slice(0, 16);
}
