import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findClosedWays, openWays } from '../kernel/open-way.ts';

const checkout = fileURLToPath(new URL('../../../..', import.meta.url));

/**
 * Lets every user reach the programs of this checkout, at their own paths, also where the checkout is a folder that only its
 * owner may pass, or is below one: what else is in that folder is hidden. To be called in private mounts, as the folder
 * stays closed for everybody else. Does nothing where all may pass.
 */
export const openCheckout = (): void => {
  // By what they hold: the checkout itself may be the folder that is closed.
  openWays(findClosedWays(['packages', 'node_modules'].map((name) => join(checkout, name))));
};
