import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity, readBootId } from '../kernel/process-identity.ts';
import type { DelegatedGroup, LimitsRefusal } from './delegated-group.ts';

/** The state of a rootless namespace that a user's servers share. */
export interface RootlessRecord {
  version: 1;
  /** The boot of the host: pids and start times begin anew with it. */
  bootId: string;
  /** The process that holds the namespaces. */
  holder: ProcessIdentity;
  /** The inode of its user namespace. Another one may have it as soon as no sandbox is in one below. */
  userNamespace: number;
  /** The process that carries packets between the rootless namespace and the host's network. */
  uplink?: ProcessIdentity;
  /** Where sandboxes get their limits, or why they have none. Undefined in an unfinished record. */
  limits?: DelegatedGroup | LimitsRefusal;
}

/** A pipe whose writing end the holder has: the uplink ends with it. */
export const holderLinePath = (stateDir: string): string => join(stateDir, 'holder');

const rootlessRecordPath = (stateDir: string): string => join(stateDir, 'namespace.json');

/** The last rootless namespace since the host's boot, alive or not. */
export function readLastRootlessRecord(stateDir: string): RootlessRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(rootlessRecordPath(stateDir), 'utf8')) as RootlessRecord;
    return record.bootId === readBootId() ? record : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The user's rootless namespace, or undefined when none is alive. */
export function readRootlessRecord(stateDir: string): RootlessRecord | undefined {
  const last = readLastRootlessRecord(stateDir);
  return last && isAlive(last.holder) ? last : undefined;
}

/** Undefined where sandboxes of the rootless namespace have no cgroups. */
export const toDelegated = ({ limits }: RootlessRecord): DelegatedGroup | undefined =>
  limits && 'unit' in limits ? limits : undefined;

/** Replaces the record in one step. */
export async function writeRootlessRecord(stateDir: string, record: RootlessRecord): Promise<void> {
  const path = rootlessRecordPath(stateDir);
  await writeFile(`${path}.next`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.next`, path);
}
