import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { findTraces } from '@skerry/runtime/testing';

/** What a process of ours holds of sandboxes although there is none: namespaces, pipes, files of their folders. */
export const findHeldBy = (pid: number, dataDir: string): string[] => {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder)
    .map((name) => {
      try {
        return readlinkSync(`${folder}/${name}`);
      } catch {
        return ''; // Closed since the folder was read.
      }
    })
    .filter((target) => /^(net|user|mnt):/.test(target) || isOfSandbox(target, dataDir))
    .map((target) => `${target} held by ${pid}`);
};

const isOfSandbox = (path: string, dataDir: string): boolean =>
  ['sandboxes/', 'snapshots/'].some((part) => path.startsWith(`${dataDir}/${part}`));

/** Whatever is left on this host of a data folder whose server is down: of its sandboxes, and of itself. */
export const findOrphans = async (dataDir: string, ids: readonly string[]): Promise<string[]> => [
  ...(await findTraces({ dataDir, ids })),
  ...findProcesses(dataDir),
  ...findSockets(dataDir),
];

/** Command lines, of this or any other user, that name the folder; but for this process and those above it. */
const findProcesses = (dataDir: string): string[] => {
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return found
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dataDir);
      } catch {
        return false; // The process has just ended.
      }
    })
    .map((pid) => `process ${pid}`);
};

/** Those that a process holds. */
const findSockets = (dataDir: string): string[] =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .filter((line) => line.includes(dataDir))
    .map((line) => `socket ${line.slice(line.indexOf(dataDir))}`);
