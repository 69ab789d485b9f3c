import {
  access,
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RuntimeError } from './error.ts';
import { runCommand } from './run-command.ts';

/** The release of Debian that has a CRIU for current kernels, and the keys that it is signed with. */
const source =
  'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main\n';

const workPrefix = '.new-criu-';

/**
 * Resolves with a folder that has CRIU 4.2 or later as `criu`, with its own loader and libraries in `lib/`: that of
 * Debian 12 does not work on current kernels. It is unpacked from Debian's packages and not installed; the system's
 * package sources and packages stay as they are. Made once; whole and named in one step.
 *
 * Rejects with `unsupported` and a reason when the packages cannot be had.
 */
export const prepareCriu = async (options: { targetDir: string; signal?: AbortSignal }): Promise<string> => {
  const { targetDir, signal } = options;
  const target = join(targetDir, 'criu');
  if (await exists(join(target, 'criu'))) return target;
  await mkdir(targetDir, { recursive: true });
  await removeOldAttempts(targetDir);
  const work = await mkdtemp(join(targetDir, workPrefix));
  try {
    await download(work, signal);
    await unpack(work, signal);
    await assemble(work);
    await rename(join(work, 'done'), target);
  } catch (error) {
    // Somebody else made the same folder meanwhile.
    if (!(await exists(join(target, 'criu')))) {
      throw new RuntimeError('unsupported', 'CRIU 4.2 could not be fetched; memory is not kept without', {
        cause: error,
      });
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return target;
};

const OLD_MS = 600_000;

/** Of processes that were killed. */
const removeOldAttempts = async (targetDir: string): Promise<void> => {
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
const download = async (work: string, signal: AbortSignal | undefined): Promise<void> => {
  for (const name of ['lists/partial', 'cache/archives/partial']) {
    await mkdir(join(work, name), { recursive: true });
  }
  await writeFile(join(work, 'sources.list'), source);
  await writeFile(join(work, 'status'), '');
  const apt = (...args: string[]): Promise<string> =>
    runCommand({ file: 'apt-get', args: [...toAptOptions(work), ...args], timeoutMs: 60_000, signal });
  await apt('update');
  await apt('install', '--yes', '--download-only', '--no-install-recommends', 'criu');
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

/** Takes what the program loads, as its own loader lists it. */
const assemble = async (work: string): Promise<void> => {
  const root = join(work, 'root');
  const libraries = (await readdir(root, { recursive: true, withFileTypes: true })).find(
    (entry) =>
      // Beside the C library; elsewhere there is a link to it.
      entry.isFile() && /^ld-linux.*\.so\.\d$/.test(entry.name),
  );
  if (libraries === undefined) throw new RuntimeError('unsupported', 'the packages have no loader');
  const loader = join(libraries.parentPath, libraries.name);
  const listing = await runCommand({
    file: loader,
    args: ['--library-path', libraries.parentPath, '--list', join(root, 'usr/sbin/criu')],
  });
  const done = join(work, 'done');
  await mkdir(join(done, 'lib'), { recursive: true });
  const loaded = [...listing.matchAll(/=> (\/\S+) \(/g)].map((match) => match[1] as string);
  if (loaded.some((path) => !path.startsWith(root))) {
    throw new RuntimeError('unsupported', `CRIU would load a library of the system: ${listing}`);
  }
  await standForRoot(join(root, 'usr/sbin/criu'));
  await copySynced(join(root, 'usr/sbin/criu'), join(done, 'criu'));
  for (const path of new Set([...loaded, loader])) {
    await copySynced(path, join(done, 'lib', path === loader ? 'ld.so' : basename(path)));
  }
  await chmod(done, 0o755);
};

/**
 * Makes the program take its group for its user where it asks who it is: it acts as a sandbox's owner with all that root
 * may do, and for anybody but root it leaves out half of its work, whatever he may do.
 */
const standForRoot = async (path: string): Promise<void> => {
  const program = await readFile(path);
  const name = Buffer.from('\0geteuid\0');
  const at = program.indexOf(name);
  if (at === -1 || program.includes(name, at + 1)) {
    throw new RuntimeError('unsupported', 'this CRIU does not ask who it is as expected');
  }
  program.write('getegid', at + 1);
  await writeFile(path, program);
};

const copySynced = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  await chmod(to, 0o755);
  await using file = await open(to, 'r');
  await file.sync();
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
