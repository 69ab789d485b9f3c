import { readdirSync, readlinkSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import type { ObservedProcess } from '../../../../obstacle.ts';
import { listDescriptors } from '../descriptors/list-descriptors.ts';
import { observeProcess } from './observe-process.ts';

/** A file that a process has open, has mapped, runs, or has as its working folder. */
export interface HeldFile {
  pid: number;
  /** A link of `/proc` to it. */
  path: string;
  /** What a descriptor shows of its file; undefined when it is held without one. */
  info?: string;
}

/** The files that the processes hold, none of a process that has ended. A file may be listed many times. */
export function* listHeldFiles(pids: readonly number[]): Generator<HeldFile> {
  for (const { pid, name } of listDescriptors(pids))
    yield { pid, path: `/proc/${pid}/fd/${name}`, info: `/proc/${pid}/fdinfo/${name}` };
  for (const pid of pids) {
    for (const name of ['cwd', 'exe']) yield { pid, path: `/proc/${pid}/${name}` };
    const folder = `/proc/${pid}/map_files`;
    for (const name of readIfPresent(() => readdirSync(folder)) ?? [])
      yield { pid, path: `${folder}/${name}` };
  }
}

/**
 * Resolves with the first process that holds a file that has or had that path, one character for each byte; undefined when none
 * does.
 */
export const findHolder = async (
  pids: readonly number[],
  path: string,
): Promise<ObservedProcess | undefined> => {
  const yielder = createYielder();
  for (const held of listHeldFiles(pids)) {
    const shown = readIfPresent(() => readlinkSync(held.path, 'latin1'));
    if (shown === path || shown === `${path} (deleted)`) return observeProcess(held.pid);
    await yielder();
  }
  return undefined;
};
