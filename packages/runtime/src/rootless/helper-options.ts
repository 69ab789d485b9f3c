import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { findOnLinkRanges } from '../network/on-link.ts';
import type { HelperRootlessOptions } from '../remote/helper.ts';
import { type LimitsRefusal, toLingerPath, toUndelegated } from './delegated-group.ts';
import { readRootlessRecord, toDelegated } from './record.ts';
import { unifiedRoot } from './unified-groups.ts';

/**
 * The options of a helper in the rootless namespace that this process has entered.
 * @throws RuntimeError `unavailable` when the rootless namespace has ended meanwhile
 */
export function toHelperRootlessOptions(stateDir: string): HelperRootlessOptions {
  const record = readRootlessRecord(stateDir);
  if (!record) throw new RuntimeError('unavailable', `the rootless namespace of ${stateDir} has ended`);
  const group = toDelegated(record);
  return {
    holderPid: record.holder.pid,
    // Packets of an ordinary user's sandboxes leave the host as connections of this user: to the host they would be
    // those of a neighbour, and no chain of its firewall tells them apart.
    hostAddresses: findOnLinkRanges(),
    ...(group && { cgroupFolder: join(unifiedRoot, group.path) }),
  };
}

/** What the user's service manager provides for the limits of sandboxes in a rootless namespace. */
export type RootlessLimits =
  | {
      unit: string;
      user: string;
      /** Whether sandboxes outlive the last session of the user. */
      lingers: boolean;
      /** What is limited in a sandbox, as a phrase: "cpu, memory and processes". */
      limited: string;
      /** Why the cpu is not limited; undefined when it is. */
      cpuRefusal: LimitsRefusal | undefined;
    }
  | LimitsRefusal;

/** Undefined when there is no rootless namespace. */
export function describeRootlessLimits(stateDir: string): RootlessLimits | undefined {
  const record = readRootlessRecord(stateDir);
  const group = record && toDelegated(record);
  if (!group) return record?.limits as LimitsRefusal | undefined;
  const { unit, user, controllers } = group;
  const limitsCpu = controllers.includes('cpu');
  return {
    unit,
    user,
    lingers: existsSync(toLingerPath(group)),
    limited: limitsCpu ? 'cpu, memory and processes' : 'memory and processes',
    cpuRefusal: limitsCpu ? undefined : toUndelegated(user, ['cpu']),
  };
}
