import { createHash } from 'node:crypto';
import type { BaseContents } from './contents.ts';
import { nodePackages } from './node-packages.ts';

/** What a base template must contain, however it is made. */
export interface BaseRecipe {
  /** Debian package → a file that shows that it is installed in any way. */
  packages: Readonly<Record<string, string>>;
  /** Names of locale.gen(5), beside `C.UTF-8`. */
  locales: readonly string[];
  /** Whether Node.js and npm are added where an image has none, in releases from npm. */
  hasNode: boolean;
}

/** `python-is-python3` provides `python`, `passwd` the tools that manage accounts. */
const minimalPackages: BaseRecipe['packages'] = {
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

/** What `ncurses-term` lacks of the terminals of today comes with packages of their own. */
const toolPackages: BaseRecipe['packages'] = {
  'build-essential': '/usr/bin/g++',
  'foot-terminfo': '/usr/share/terminfo/f/foot',
  jq: '/usr/bin/jq',
  'kitty-terminfo': '/usr/share/terminfo/x/xterm-kitty',
  less: '/usr/bin/less',
  locales: '/usr/sbin/locale-gen',
  nano: '/usr/bin/nano',
  'ncurses-term': '/usr/share/terminfo/a/alacritty',
  'openssh-client': '/usr/bin/ssh',
  'python3-pip': '/usr/bin/pip3',
  'python3-venv': '/var/lib/dpkg/info/python3-venv.list',
  ripgrep: '/usr/bin/rg',
  unzip: '/usr/bin/unzip',
  'vim-tiny': '/usr/bin/vim.tiny',
  wget: '/usr/bin/wget',
};

export const baseRecipes: Readonly<Record<BaseContents, BaseRecipe>> = {
  full: {
    packages: { ...minimalPackages, ...toolPackages },
    locales: ['en_US.UTF-8'],
    hasNode: true,
  },
  minimal: { packages: minimalPackages, locales: [], hasNode: false },
};

/**
 * Raise it with every change of what the code in this folder makes, so that images of an older recipe are made anew.
 */
const recipeVersion = 5;

/** The name of the build: equal for equal code and options, on every host. 16 hex digits. */
export function toRecipeDigest({
  contents,
  registryImage,
}: {
  contents: BaseContents;
  registryImage?: string | undefined;
}): string {
  const { packages, locales, hasNode } = baseRecipes[contents];
  const parts = [
    recipeVersion,
    Object.keys(packages).toSorted(),
    registryImage ?? null,
    locales,
    hasNode ? nodePackages : null,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}
