import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { attachTree, cloneTree } from '../../../kernel/syscalls.ts';

const covered = ['/proc/sys/kernel', '/proc/sys/fs/mqueue'];

/**
 * Returns what puts copies of the kernel's settings over them, to be called in private mounts: CRIU writes the settings of a
 * new namespace, which is right for root only, and it is not root but the sandbox's owner. They are what they were anyway,
 * but for the host's name. The copies are made once, at the first call, and shared: nobody reads what it writes.
 */
export const createSettingsCover = (scratchDir: string): (() => void) => {
  const dir = `${scratchDir}/settings`;
  let isMade = false;
  const toCopy = (path: string): string => `${dir}/${path.replaceAll('/', '-')}`;
  const make = (): void => {
    rmSync(dir, { recursive: true, force: true });
    for (const path of covered) {
      mkdirSync(toCopy(path), { recursive: true, mode: 0o755 });
      for (const name of readdirSync(path)) {
        if (statSync(`${path}/${name}`).isFile())
          writeFileSync(`${toCopy(path)}/${name}`, readIfAllowed(`${path}/${name}`));
      }
    }
    isMade = true;
  };
  return () => {
    if (!isMade) make();
    for (const path of covered) {
      const tree = cloneTree(toCopy(path));
      try {
        attachTree(tree, path);
      } finally {
        closeSync(tree);
      }
    }
  };
};

const readIfAllowed = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Some can only be written, or not by us: nobody needs their value.
    return '';
  }
};
