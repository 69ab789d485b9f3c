import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import type { HelperGround } from '../remote/helper.ts';
import { type LimitsRefusal, toLingerPath, toUndelegated } from './delegated-group.ts';
import { readGround, toDelegated } from './ground-record.ts';
import { findHostAddresses } from './host-addresses.ts';
import { readControllers, unifiedRoot } from './unified-groups.ts';

/**
 * What a helper is told in the ground that this process has entered.
 * @throws RuntimeError `unavailable` when the ground has ended meanwhile
 */
export function toHelperGround(stateDir: string): HelperGround {
  const ground = readGround(stateDir);
  if (!ground) throw new RuntimeError('unavailable', `the ground of ${stateDir} has ended`);
  const group = toDelegated(ground);
  return {
    holderPid: ground.holder.pid,
    hostAddresses: findHostAddresses(),
    ...(group && { cgroupFolder: join(unifiedRoot, group.path) }),
  };
}

/** What the user's service manager does for the limits of sandboxes in a ground. */
export type GroundLimits =
  | {
      unit: string;
      user: string;
      /** Whether sandboxes outlive the last session of the user. */
      lingers: boolean;
      /** What of a sandbox is limited, as a phrase: "cpu, memory and processes". */
      limited: string;
      /** Why the cpu is not; undefined when it is. */
      cpuRefusal: LimitsRefusal | undefined;
    }
  | LimitsRefusal;

/** Undefined when there is no ground. */
export function describeGroundLimits(stateDir: string): GroundLimits | undefined {
  const ground = readGround(stateDir);
  const group = ground && toDelegated(ground);
  if (!group) return ground?.limits as LimitsRefusal | undefined;
  const { unit, user, path, controllers = readControllers(join(unifiedRoot, path)) } = group;
  const limitsCpu = controllers.includes('cpu');
  return {
    unit,
    user,
    lingers: existsSync(toLingerPath(group)),
    limited: limitsCpu ? 'cpu, memory and processes' : 'memory and processes',
    cpuRefusal: limitsCpu ? undefined : toUndelegated(user, ['cpu']),
  };
}
