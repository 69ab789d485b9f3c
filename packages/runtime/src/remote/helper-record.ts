import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, isAlive, type ProcessIdentity, readBootId } from '../kernel/process-identity.ts';

/** Records the helper that holds the driver of a data folder. The record remains when the helper is killed. */
const toPath = (dataDir: string): string => join(dataDir, 'run', 'helper.json');

/** Records this process as the helper of the folder. Call it with the host lock of the folder's `run` held. */
export function writeHelperRecord(dataDir: string): void {
  const record = { version: 1, bootId: readBootId(), ...identifyProcess(process.pid) };
  writeFileSync(toPath(dataDir), JSON.stringify(record), { mode: 0o600 });
}

/** Removes the record of this process, or of one that was killed. Idempotent. */
export const removeHelperRecord = (dataDir: string): void => rmSync(toPath(dataDir), { force: true });

/** Returns the helper of the folder; undefined when none lives. Another program may have its process id by now, so the start time is compared. */
export function findHelper(dataDir: string): ProcessIdentity | undefined {
  let record: Partial<ProcessIdentity> & { bootId?: string };
  try {
    record = JSON.parse(readFileSync(toPath(dataDir), 'utf8'));
  } catch (error) {
    // The file is not JSON when the helper was killed while it wrote it, or after a power cut.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { bootId, pid, startTicks } = record;
  if (bootId !== readBootId() || pid === undefined || startTicks === undefined) return undefined;
  const helper = { pid, startTicks };
  return isAlive(helper) ? helper : undefined;
}
