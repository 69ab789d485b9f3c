import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { runCommand } from '../kernel/run-command.ts';
import { syncPath } from '../kernel/sync-path.ts';

/** A program of Debian's that a host's own release does not have, or not new enough. */
export interface DebianProgram {
  /** Of the package, of the folder that is made of it, and of the program in that. */
  name: string;
  /** The release of Debian that has it. */
  release: string;
  /** What does not work without. */
  purpose: string;
  /** Takes what the program needs out of the unpacked packages. */
  assemble: (from: { root: string; to: string }) => Promise<void>;
}

/** Keys of Debian's releases. */
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Resolves with a folder below `targetDir` that has the program. It is unpacked from Debian's packages, which are checked by
 * the release's signature, and not installed; the system's package sources and packages stay as they are. Made once; whole
 * and named in one step.
 *
 * Rejects with `unsupported` and a reason when the packages cannot be had.
 */
export const fetchDebianProgram = async (
  program: DebianProgram,
  { targetDir, signal }: { targetDir: string; signal?: AbortSignal | undefined },
): Promise<string> => {
  const { name, purpose, assemble } = program;
  const target = join(targetDir, name);
  if (existsSync(join(target, name))) return target;
  await mkdir(targetDir, { recursive: true });
  const workPrefix = `.new-${name}-`;
  await removeOldAttempts(targetDir, workPrefix);
  const work = await mkdtemp(join(targetDir, workPrefix));
  try {
    await download(program, work, signal);
    await unpack(work, signal);
    const to = join(work, 'done');
    await mkdir(to);
    await assemble({ root: join(work, 'root'), to });
    await chmod(to, 0o755);
    await syncFolders(to);
    await rename(to, target);
    await syncPath(targetDir);
  } catch (error) {
    // Somebody else made the same folder meanwhile.
    if (!existsSync(join(target, name))) {
      throw new RuntimeError('unsupported', `${name} could not be fetched; ${purpose} without`, {
        cause: error,
      });
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return target;
};

/** The names of what was copied. */
const syncFolders = async (folder: string): Promise<void> => {
  const inside = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name } of inside) await syncFolders(join(folder, name));
  await syncPath(folder);
};

const OLD_MS = 600_000;

/** Of processes that were killed. */
const removeOldAttempts = async (targetDir: string, workPrefix: string): Promise<void> => {
  for (const name of (await readdir(targetDir)).filter((entry) => entry.startsWith(workPrefix))) {
    const path = join(targetDir, name);
    // One that is gone was somebody's who has just finished.
    const isOld = await stat(path).then(
      ({ mtimeMs }) => mtimeMs < Date.now() - OLD_MS,
      () => false,
    );
    if (isOld) await rm(path, { recursive: true, force: true });
  }
};

/** What apt itself finds that the program needs, as on a machine that has nothing yet. */
const download = async (
  { name, release }: DebianProgram,
  work: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const folder of ['lists/partial', 'cache/archives/partial']) {
    await mkdir(join(work, folder), { recursive: true });
  }
  const source = `deb [signed-by=${keyring}] http://deb.debian.org/debian ${release} main\n`;
  await writeFile(join(work, 'sources.list'), source);
  await writeFile(join(work, 'status'), '');
  const apt = (...args: string[]): Promise<string> =>
    runCommand({ file: 'apt-get', args: [...toAptOptions(work), ...args], timeoutMs: 60_000, signal });
  await apt('update');
  await apt('install', '--yes', '--download-only', '--no-install-recommends', name);
};

/** Everything that apt reads or writes, but its keys, lies in the folder. */
const toAptOptions = (work: string): string[] =>
  [
    `Dir::Etc::SourceList=${work}/sources.list`,
    'Dir::Etc::SourceParts=/dev/null',
    'Dir::Etc::PreferencesParts=/dev/null',
    `Dir::State::Status=${work}/status`,
    `Dir::State::Lists=${work}/lists`,
    `Dir::Cache=${work}/cache`,
    'Acquire::Languages=none',
    // Whoever waits for a server to start should not wait for a host that does not answer.
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

/** Copies a program, on the medium when it resolves. */
export const copySynced = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  await chmod(to, 0o755);
  await syncPath(to);
};
