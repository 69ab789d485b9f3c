import { RuntimeError } from '../error.ts';
import type { HelperGround } from '../remote/helper.ts';
import { readGround } from './ground-record.ts';
import { findHostAddresses } from './host-addresses.ts';

/**
 * What a helper is told in the ground that this process has entered.
 * @throws RuntimeError `unavailable` when the ground has ended meanwhile
 */
export function toHelperGround(stateDir: string): HelperGround {
  const ground = readGround(stateDir);
  if (!ground) throw new RuntimeError('unavailable', `the ground of ${stateDir} has ended`);
  return { holderPid: ground.holder.pid, hostAddresses: findHostAddresses() };
}
