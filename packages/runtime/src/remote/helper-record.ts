import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, isAlive, type ProcessIdentity } from '../kernel/process-identity.ts';
import { readBootId } from '../rootless/record.ts';

/** Of the helper that holds the driver of a data folder. It stays when that one was killed. */
const toPath = (dataDir: string): string => join(dataDir, 'run', 'helper.json');

/** Notes this process as the helper of the folder. To be called with the host lock of the folder's `run` held. */
export function writeHelperRecord(dataDir: string): void {
  const record = { version: 1, bootId: readBootId(), ...identifyProcess(process.pid) };
  writeFileSync(toPath(dataDir), JSON.stringify(record), { mode: 0o600 });
}

/** Removes what this process, or one that was killed, has noted. Idempotent. */
export const removeHelperRecord = (dataDir: string): void => rmSync(toPath(dataDir), { force: true });

/** The helper of the folder; undefined when none lives. Its number alone may be another program's by now. */
export function findHelper(dataDir: string): ProcessIdentity | undefined {
  let record: Partial<ProcessIdentity> & { bootId?: string };
  try {
    record = JSON.parse(readFileSync(toPath(dataDir), 'utf8'));
  } catch (error) {
    // A file that is no JSON is from a helper that was killed while it wrote it, or from a power cut.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { bootId, pid, startTicks } = record;
  if (bootId !== readBootId() || pid === undefined || startTicks === undefined) return undefined;
  const helper = { pid, startTicks };
  return isAlive(helper) ? helper : undefined;
}
