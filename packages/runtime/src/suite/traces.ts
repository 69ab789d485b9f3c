import { readdir, readFile } from 'node:fs/promises';
import { hostInterface } from '../network/rules.ts';
import { listSlots } from '../network/slots.ts';

/**
 * Everything on this host that belongs to the sandboxes of a data folder, or to none at all: mounts, loop devices,
 * cgroups, processes, reserved slots, network links, folders and snapshots. Other servers on the host do not affect it.
 * `ids` are all that the test has used.
 */
export const findTraces = async (options: {
  dataDir: string;
  ids: readonly string[];
  stateDir?: string;
}): Promise<string[]> => {
  const { dataDir, ids, stateDir } = options;
  const found = await Promise.all([
    findMounts(dataDir),
    findLoopDevices(dataDir),
    findCgroups(new Set(ids)),
    findProcesses(new Set(ids)),
    findSlots({ dataDir, stateDir }),
    findStrayLinks(stateDir),
    readOrNone(readdir(`${dataDir}/sandboxes`)).then((names) => names.map((name) => `folder ${name}`)),
    readOrNone(readdir(`${dataDir}/snapshots`)).then((names) => names.map((name) => `snapshot ${name}`)),
    readOrNone(readdir(`${dataDir}/run`)).then((names) =>
      names.filter((name) => name.startsWith('format-')).map((name) => `file run/${name}`),
    ),
  ]);
  return found.flat().sort();
};

const findMounts = async (dataDir: string): Promise<string[]> => {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  const points = lines.map((line) => line.split(' ')[4] ?? '');
  return points.filter((point) => point.startsWith(`${dataDir}/`)).map((point) => `mount ${point}`);
};

const findLoopDevices = async (dataDir: string): Promise<string[]> => {
  const names = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
  const files = await Promise.all(
    names.map((name) => readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')),
  );
  return files
    .filter((file) => file.startsWith(`${dataDir}/`))
    .map((file) => `loop device of ${file.trim()}`);
};

const findCgroups = async (ids: ReadonlySet<string>): Promise<string[]> => {
  const root = '/sys/fs/cgroup';
  const trees = [root, ...(await listFolders(root))];
  const groups = await Promise.all(trees.map(listFolders));
  const sandboxes = await Promise.all(groups.flat().map(listFolders));
  return sandboxes
    .flat()
    .filter((path) => ids.has(path.slice(path.lastIndexOf('/') + 1)))
    .map((path) => `cgroup ${path}`);
};

const listFolders = async (path: string): Promise<string[]> => {
  const entries = await readOrNone(readdir(path, { withFileTypes: true }));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`);
};

const findProcesses = async (ids: ReadonlySet<string>): Promise<string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const groups = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')),
  );
  return pids
    .filter((_, index) => groups[index]?.split(/[/\n]/).some((part) => ids.has(part)))
    .map((pid) => `process ${pid}`);
};

const findSlots = async (options: { dataDir: string; stateDir: string | undefined }): Promise<string[]> =>
  (await listSlots(options)).map(({ id, slot }) => `slot ${slot} of ${id}`);

/** A link is made after its slot is reserved and removed before it is released: one without a slot is a leftover. */
const findStrayLinks = async (stateDir: string | undefined): Promise<string[]> => {
  const names = (await readdir('/sys/class/net')).filter((name) => name.startsWith(linkPrefix));
  const taken = new Set((await listSlots({ stateDir })).map(({ slot }) => hostInterface(slot)));
  const stray = names.filter((name) => !taken.has(name));
  // Another server may have removed one between the two reads.
  const present = await readdir('/sys/class/net');
  return stray.filter((name) => present.includes(name)).map((name) => `interface ${name}`);
};

const linkPrefix = hostInterface(0).slice(0, -1);

const readOrNone = async <T>(entries: Promise<T[]>): Promise<T[]> => {
  try {
    return await entries;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};
