import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from '../kernel/process-identity.ts';
import type { DelegatedGroup, LimitsRefusal } from './delegated-group.ts';

/** What a user's servers agree on about their ground. */
export interface GroundRecord {
  version: 1;
  /** Of the host: process numbers and start times begin anew with it. */
  bootId: string;
  /** The process that keeps the namespaces. */
  holder: ProcessIdentity;
  /** The number of its user namespace, which is nothing else's while a sandbox is in one below. */
  userNamespace: number;
  /** The process that carries packets between the ground and the host's network. */
  uplink?: ProcessIdentity;
  /** Where sandboxes get their limits; or why they have none. Of an unfinished record neither is known. */
  limits?: DelegatedGroup | LimitsRefusal;
}

/** A pipe whose writing end the holder has: the uplink ends with it. */
export const holderLinePath = (stateDir: string): string => join(stateDir, 'holder');

const groundRecordPath = (stateDir: string): string => join(stateDir, 'ground.json');

export const readBootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** The last ground since the host's start, whether or not it lives. */
export function readLastGround(stateDir: string): GroundRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(groundRecordPath(stateDir), 'utf8')) as GroundRecord;
    return record.bootId === readBootId() ? record : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The user's ground, or undefined when there is none that lives. */
export function readGround(stateDir: string): GroundRecord | undefined {
  const last = readLastGround(stateDir);
  return last && isAlive(last.holder) ? last : undefined;
}

/** Undefined where sandboxes of the ground have no cgroups. */
export const toDelegated = ({ limits }: GroundRecord): DelegatedGroup | undefined =>
  limits && 'unit' in limits ? limits : undefined;

/** Replaces the record in one step. */
export async function writeGround(stateDir: string, record: GroundRecord): Promise<void> {
  const path = groundRecordPath(stateDir);
  await writeFile(`${path}.next`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.next`, path);
}
