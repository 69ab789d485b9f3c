import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { runCommand } from '../kernel/run-command.ts';
import { syncPath } from '../kernel/sync-path.ts';
import { requireOwnFolder, requireOwnTree, UntrustedFileError } from './own-files.ts';

/** A program of Debian that the host's own release lacks, or has only in an older version. */
export interface DebianProgram {
  /** The name of the package, of the folder that is made of it, and of the program in it. */
  name: string;
  /** The release of Debian that contains it. */
  release: string;
  /** What does not work without it. */
  purpose: string;
  /** Copies what the program needs from the unpacked packages. */
  assemble: (from: { root: string; to: string }) => Promise<void>;
  /** Where the packages come from; Debian's own archive when absent. */
  archive?: Archive;
}

interface Archive {
  url: string;
  /** A file with public keys; one of them must have signed the archive's index. */
  keyring: string;
}

const debian: Archive = {
  url: 'http://deb.debian.org/debian',
  keyring: '/usr/share/keyrings/debian-archive-keyring.gpg',
};

/**
 * Resolves with a folder below `targetDir` that contains the program. It is unpacked from Debian's packages, not
 * installed; the system's package sources and packages stay as they are. apt verifies the signature of the archive's
 * index by the keys of Debian alone, and each package by the hash in that index, whatever the configuration of this
 * host allows. Made once, and complete as soon as it has its name.
 *
 * Rejects with `unsupported` and a reason when the packages cannot be fetched or verified.
 */
export const fetchDebianProgram = async (
  program: DebianProgram,
  { targetDir, signal }: { targetDir: string; signal?: AbortSignal | undefined },
): Promise<string> => {
  const { name, purpose, assemble } = program;
  try {
    return await makeProgramFolder({ targetDir, folder: name, program: name }, async ({ work, to }) => {
      await download(program, work, signal);
      await unpack(work, signal);
      await assemble({ root: join(work, 'root'), to });
    });
  } catch (error) {
    if (error instanceof UntrustedFileError) throw error;
    throw new RuntimeError('unsupported', `${name} could not be fetched; ${purpose} without`, {
      cause: error,
    });
  }
};

/**
 * Resolves with the folder of that name below `targetDir`, which contains the program. `make` puts the content into
 * `to`, and may use `work` for temporary files. Made once; complete and on the medium as soon as it has its name.
 * Rejects with `unsupported` when another user owns the folder or its content, or may write there.
 */
export const makeProgramFolder = async (
  { targetDir, folder, program }: { targetDir: string; folder: string; program: string },
  make: (place: { work: string; to: string }) => Promise<void>,
): Promise<string> => {
  const target = join(targetDir, folder);
  await mkdir(targetDir, { recursive: true });
  requireOwnFolder(targetDir);
  if (existsSync(join(target, program))) {
    requireOwnTree(target);
    return target;
  }
  const workPrefix = `.new-${folder}-`;
  await removeOldAttempts(targetDir, workPrefix);
  const work = await mkdtemp(join(targetDir, workPrefix));
  try {
    const to = join(work, 'done');
    await mkdir(to);
    await make({ work, to });
    await chmod(to, 0o755);
    await syncFolders(to);
    await rename(to, target).catch((error: unknown) => {
      // Another process has made the same folder meanwhile.
      if (!existsSync(join(target, program))) throw error;
      requireOwnTree(target);
    });
    await syncPath(targetDir);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return target;
};

/** Syncs the folder and all below it; files are synced by the caller. */
const syncFolders = async (folder: string): Promise<void> => {
  const inside = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name } of inside) await syncFolders(join(folder, name));
  await syncPath(folder);
};

const OLD_MS = 600_000;

/** Removes the folders of processes that were killed. */
const removeOldAttempts = async (targetDir: string, workPrefix: string): Promise<void> => {
  for (const name of (await readdir(targetDir)).filter((entry) => entry.startsWith(workPrefix))) {
    const path = join(targetDir, name);
    // A folder that has disappeared belonged to a process that has just finished.
    const isOld = await stat(path).then(
      ({ mtimeMs }) => mtimeMs < Date.now() - OLD_MS,
      () => false,
    );
    if (isOld) await rm(path, { recursive: true, force: true });
  }
};

/** The dependencies that apt itself resolves, as on a machine without any package. */
const download = async (
  { name, release, archive = debian }: DebianProgram,
  work: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const folder of ['lists/partial', 'cache/archives/partial']) {
    await mkdir(join(work, folder), { recursive: true });
  }
  const source = `deb [signed-by=${archive.keyring}] ${archive.url} ${release} main\n`;
  await writeFile(join(work, 'sources.list'), source);
  await writeFile(join(work, 'status'), '');
  const apt = (...args: string[]): Promise<string> =>
    runCommand({ file: 'apt-get', args: [...toAptOptions(work), ...args], timeoutMs: 60_000, signal });
  await apt('update');
  await apt('install', '--yes', '--download-only', '--no-install-recommends', name);
};

/** Everything that apt reads or writes, except its keys, is in the folder. */
const toAptOptions = (work: string): string[] =>
  [
    `Dir::Etc::SourceList=${work}/sources.list`,
    'Dir::Etc::SourceParts=/dev/null',
    'Dir::Etc::PreferencesParts=/dev/null',
    `Dir::State::Status=${work}/status`,
    `Dir::State::Lists=${work}/lists`,
    `Dir::Cache=${work}/cache`,
    // Verify, also where the configuration of this host does not.
    'APT::Get::AllowUnauthenticated=false',
    'Acquire::AllowInsecureRepositories=false',
    'Acquire::AllowWeakRepositories=false',
    'Acquire::AllowDowngradeToInsecureRepositories=false',
    'Acquire::Languages=none',
    // The server starts after this download: it must not wait long for an archive that does not answer.
    'Acquire::Retries=1',
    'Acquire::http::Timeout=10',
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);

const unpack = async (work: string, signal: AbortSignal | undefined): Promise<void> => {
  const archives = join(work, 'cache/archives');
  for (const name of (await readdir(archives)).filter((entry) => entry.endsWith('.deb'))) {
    await runCommand({ file: 'dpkg', args: ['-x', join(archives, name), join(work, 'root')], signal });
  }
};

/** Copies a program; it is on the medium when this resolves. */
export const copySynced = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  await chmod(to, 0o755);
  await syncPath(to);
};
