import { readFile, rename, writeFile } from 'node:fs/promises';
import type { InstanceSpec } from '../../runtime.ts';

/**
 * What is on disk about a sandbox before anything of it exists, so that whoever comes after a crash finds all of it.
 * It is not forced to the medium: what it leads to (mounts, processes, interfaces) is gone after a power cut anyway,
 * and the rest lies in the same folder.
 */
export interface SandboxRecord {
  version: 1;
  spec: InstanceSpec;
  runId: string;
  slot: number;
  /** `ready` once the agent inside has answered; before that the sandbox is only good to be removed. */
  phase: 'starting' | 'ready';
}

/** Replaces the record in one rename, so that no reader sees half of it. */
export const writeRecord = async (path: string, record: SandboxRecord): Promise<void> => {
  const next = `${path}.next`;
  await writeFile(next, JSON.stringify(record), { mode: 0o600 });
  await rename(next, path);
};

/** Undefined when there is none: the sandbox's maker was ended before it had written one. */
export const readRecord = async (path: string): Promise<SandboxRecord | undefined> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as SandboxRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A file that is no JSON can only be from a power cut, after which nothing of the sandbox runs.
    if (code === 'ENOENT' || code === 'ENOTDIR' || error instanceof SyntaxError) return undefined;
    throw error;
  }
};
