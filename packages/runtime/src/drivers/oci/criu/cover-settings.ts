import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { attachTree, cloneTree } from '../../../kernel/syscalls.ts';

const covered = ['/proc/sys/kernel', '/proc/sys/fs/mqueue'];

/**
 * Returns a function that mounts copies over the kernel's sysctl files; call it in private mounts. CRIU writes the
 * sysctls of a new namespace, which only root may, and CRIU runs as the sandbox's owner. Apart from the host name the
 * values would not change. The copies are made once, at the first call, and shared: no process reads what CRIU writes
 * there.
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
    // Some can only be written, or not be read by this user: their value is not needed.
    return '';
  }
};
