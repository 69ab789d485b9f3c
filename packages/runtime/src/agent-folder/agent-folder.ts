import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { runCommand } from '../kernel/run-command.ts';
import { syncPath } from '../kernel/sync-path.ts';
import { readInterpreter } from './elf.ts';
import { replaceVariable } from './workarounds/elf-variable.ts';
import { replaceInterpreter } from './workarounds/replace-interpreter.ts';

/** The path of the folder inside every sandbox. */
export const agentMountPoint = '/.envd';

/** The names of tini in distributions; only the static one needs no library inside. */
const tiniPaths = ['/usr/bin/tini-static', '/sbin/tini-static'];

/**
 * The libraries that glibc before 2.34 loads by name when the agent looks up a host or a user: no program lists them as
 * needed.
 */
const loadedByName = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'];

/**
 * Node's releases contain Abseil built for debugging: each process looks for deadlocks among its mutexes, and keeps a
 * table of 1 MiB for that. 2 is OnDeadlockCycle::kAbort, 0 is kIgnore (absl/synchronization/mutex.h).
 */
const deadlockDetection = {
  symbol: '_ZN4absl12_GLOBAL__N_124synch_deadlock_detectionE',
  from: 2,
  to: 0,
};

export interface AgentFolderOptions {
  /** The parent of the folders of all agents; made when it is missing. */
  targetDir: string;
  /** The Node that runs the agent, a dynamically linked program. */
  nodePath: string;
  /** The agent's bundle, with `main.js`. Regular files and folders only. */
  bundleDir: string;
  signal?: AbortSignal | undefined;
}

/**
 * Makes the read-only folder that contains the agent for any root file system, with any libraries or none: `node`, its
 * loader `ld.so`, `lib/`, the init `tini`, and the bundle in `app/`. Start Node with `LD_LIBRARY_PATH=/.envd/lib`.
 *
 * Resolves with its path, named after its content: the same content is made once, at any number of calls at the same
 * time, and a folder is complete and on disk as soon as it has its name. Rejects with `unsupported` when the host lacks
 * tini or the program or bundle cannot be used.
 */
export async function prepareAgentFolder(options: AgentFolderOptions): Promise<string> {
  const files = await listFiles(options);
  const target = join(options.targetDir, await toName(files));
  if (existsSync(target)) return target;
  await mkdir(options.targetDir, { recursive: true });
  await removeAbandoned(options.targetDir);
  const temporary = await mkdtemp(join(options.targetDir, `new-${process.pid}-`));
  try {
    await chmod(temporary, 0o755);
    for (const [path, source] of files) {
      options.signal?.throwIfAborted();
      await copyInto(join(temporary, path), source, path === 'node');
    }
    await syncPath(temporary);
    await rename(temporary, target);
    await syncPath(options.targetDir);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another process made the same folder meanwhile.
    if (!existsSync(target)) throw error;
  }
  return target;
}

/** Removes what processes left that were killed while they copied. */
async function removeAbandoned(targetDir: string): Promise<void> {
  for (const name of await readdir(targetDir)) {
    const pid = /^new-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      await rm(join(targetDir, name), { recursive: true, force: true });
    }
  }
}

/** Path inside the folder → the file it is copied from, in a fixed order. */
async function listFiles({ nodePath, bundleDir, signal }: AgentFolderOptions): Promise<Map<string, string>> {
  const node = await realpath(nodePath);
  const loader = await readInterpreter(node);
  if (loader === undefined) throw new RuntimeError('unsupported', `${node} names no dynamic loader`);
  const bundle = await listBundle(bundleDir);
  const files = new Map([
    ['node', node],
    ['ld.so', await realpath(loader)],
    ['tini', await findTini()],
  ]);
  const listLibraries = (program: string): Promise<string> =>
    runCommand({ file: loader, args: ['--list', program], signal });
  const addons = bundle.filter((path) => path.endsWith('.node')).map((path) => join(bundleDir, path));
  const listings = [
    await listLibraries(node),
    // Packages contain their addon for several C libraries; Node never loads one that this loader cannot load.
    ...(await Promise.all(addons.map((addon) => listLibraries(addon).catch(() => '')))),
  ];
  for (const library of listings.flatMap(parseLibraries)) files.set(join('lib', basename(library)), library);
  const libraryDir = dirname([...files.values()].find((path) => /^libc\.so/.test(basename(path))) ?? loader);
  for (const name of loadedByName) {
    if (existsSync(join(libraryDir, name))) files.set(join('lib', name), join(libraryDir, name));
  }
  for (const path of bundle) files.set(join('app', path), join(bundleDir, path));
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The lines `name => /path (address)` of ld.so --list, which lists everything that it would load. */
const parseLibraries = (listing: string): string[] =>
  [...listing.matchAll(/=> (\/\S+) \(/g)].map((match) => match[1] as string);

/** Rejects with `unsupported` when the host has none. */
export async function findTini(): Promise<string> {
  for (const path of tiniPaths) if (existsSync(path)) return path;
  throw new RuntimeError('unsupported', 'tini-static is missing: apt-get install tini');
}

async function listBundle(bundleDir: string): Promise<string[]> {
  const entries = await readdir(bundleDir, { recursive: true, withFileTypes: true }).catch(
    (error: unknown) => {
      throw new RuntimeError('unsupported', `the agent's bundle ${bundleDir} cannot be read`, {
        cause: error,
      });
    },
  );
  const odd = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
  if (odd)
    throw new RuntimeError('unsupported', `${join(odd.parentPath, odd.name)} is neither a file nor a folder`);
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(bundleDir, '/').length));
  if (!paths.includes('main.js')) throw new RuntimeError('unsupported', `${bundleDir} has no main.js`);
  return paths;
}

/** Hashes small files and takes the identity of large ones: a start must not read 130 MB to derive a name. */
async function toName(files: Map<string, string>): Promise<string> {
  const hash = createHash('sha256').update(`2 ${agentMountPoint}\n`);
  for (const [path, source] of files) {
    const { size, mtimeNs, ino } = await stat(source, { bigint: true });
    const identity = size > 1_048_576n ? `${source} ${ino} ${mtimeNs}` : await readFile(source);
    hash.update(`${path} ${size}\n`).update(identity);
  }
  return hash.digest('hex').slice(0, 32);
}

async function copyInto(path: string, source: string, isNode: boolean): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await copyFile(source, path, constants.COPYFILE_FICLONE);
  await chmod(path, 0o755);
  if (isNode) {
    await replaceInterpreter(path, join(agentMountPoint, 'ld.so'));
    await replaceVariable(path, deadlockDetection);
  }
  await syncPath(path);
  await syncPath(dirname(path));
}
