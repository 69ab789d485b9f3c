import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findClosedFolders, openClosedFolders } from '../kernel/closed-folders.ts';

const checkout = fileURLToPath(new URL('../../../..', import.meta.url));

/**
 * Makes the programs of this checkout accessible to every user, at their own paths, also where the checkout is a folder
 * of mode 0700, or is below one: other files of that folder are hidden. Call it in private mounts, as other processes
 * must see the folder unchanged. Does nothing where all users may enter.
 */
export const openCheckout = (): void => {
  // Find closed folders from the checkout's content: the checkout itself may be closed.
  openClosedFolders(findClosedFolders(['packages', 'node_modules'].map((name) => join(checkout, name))));
};
