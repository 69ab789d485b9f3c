import { closeSync } from 'node:fs';
import { attachTree, cloneTree, idMapTree } from './syscalls.ts';

/**
 * Mounts `source` at `target` with its owners mapped by the user namespace, or unchanged without one. @throws
 * SyscallError
 */
export const mountShifted = (options: {
  source: string;
  target: string;
  userNamespace: number | undefined;
}): void => {
  const tree = cloneTree(options.source);
  try {
    if (options.userNamespace !== undefined) idMapTree(tree, options.userNamespace);
    attachTree(tree, options.target);
  } finally {
    closeSync(tree);
  }
};
