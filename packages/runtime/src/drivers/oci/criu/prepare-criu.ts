import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readInterpreter } from '../../../agent-folder/elf.ts';
import { RuntimeError } from '../../../error.ts';
import { runCommand } from '../../../kernel/run-command.ts';
import { copySynced, fetchDebianProgram, makeProgramFolder } from '../../fetch-debian-program.ts';
import { requireOwnProgram, UntrustedFileError } from '../../own-files.ts';
import { checkProgramHashes } from '../../program-hashes.ts';
import { actAsOwner, actsAsOwner } from './workarounds/act-as-owner.ts';
import { withPlainTmpfs } from './workarounds/plain-tmpfs.ts';
import { skipsTracked, withoutTracked } from './workarounds/skip-tracked.ts';

export interface CriuSource {
  /** The parent of the folder that is made. */
  targetDir: string;
  /** A CRIU of this host to use in place of Debian's: an absolute path. */
  program?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Resolves with a folder that contains CRIU 4.2 or later as `criu`, where possible a copy without compression as
 * `criu-plain`, and their loader and libraries in `lib/`: the version of Debian 12 does not work on current kernels.
 * Rejects with `unsupported` and a reason when it cannot be fetched.
 */
export const prepareCriu = async ({ targetDir, program, signal }: CriuSource): Promise<string> => {
  const dir =
    program === undefined
      ? await fetchDebianProgram(
          { name: 'criu', release: 'sid', purpose: 'memory is not kept', assemble: assembleFetched },
          { targetDir, signal },
        )
      : await copyOwn(targetDir, program);
  await checkProgramHashes(dir);
  return dir;
};

/** The line of `skerry doctor` for such a folder: its version, and what was changed in the program. Rejects as `runCommand`. */
export const describeCriu = async (dir: string): Promise<string> => {
  const program = await readFile(join(dir, 'criu'));
  const number = (await readCriuVersion(dir)) ?? 'of unknown version';
  const changes = [
    actsAsOwner(program)
      ? 'changed to run as the owner of a sandbox'
      : 'run unchanged, as root, since its code is not as expected',
    existsSync(join(dir, 'criu-plain'))
      ? 'changed to compress nothing'
      : 'slower with files in memory, which it compresses',
    skipsTracked(program)
      ? 'changed to skip tracked connections'
      : 'slower, as it reads all tracked connections',
  ];
  return `CRIU ${number} is ${changes.join(', ')}`;
};

/** Resolves with the version of the program in such a folder, as in `4.2`; undefined when it reports none. Rejects as `runCommand`. */
export const readCriuVersion = async (dir: string): Promise<string | undefined> => {
  const [file = '', ...args] = toCriuCommand(dir, 'criu');
  const text = await runCommand({ file, args: [...args, '--version'] });
  return /^Version: (\S+)/m.exec(text)?.[1];
};

/** The command for the program of that name in such a folder. A statically linked one needs no loader. */
export const toCriuCommand = (dir: string, name: string): string[] => [
  ...(existsSync(`${dir}/lib/ld.so`) ? [`${dir}/lib/ld.so`, '--library-path', `${dir}/lib`] : []),
  `${dir}/${name}`,
];

/**
 * Copies a program into a folder that is named after the content, so that another release of the program gets
 * another one.
 */
const copyOwn = async (targetDir: string, path: string): Promise<string> => {
  try {
    const program = await realpath(path);
    requireOwnProgram(program);
    const hash = createHash('sha256').update(await readFile(program));
    const folder = `criu-${hash.digest('hex').slice(0, 16)}`;
    return await makeProgramFolder({ targetDir, folder, program: 'criu' }, async ({ to }) => {
      // A program that was prepared before has its libraries beside it.
      const prepared = join(dirname(program), 'lib');
      const isPrepared = existsSync(join(prepared, 'ld.so'));
      const loader = isPrepared ? join(prepared, 'ld.so') : await readInterpreter(program);
      await assemble({ program, loader, ...(isPrepared && { libraries: prepared }), to });
    });
  } catch (error) {
    if (error instanceof UntrustedFileError) throw error;
    throw new RuntimeError('unsupported', `${path} cannot be used as CRIU`, { cause: error });
  }
};

const assembleFetched = async ({ root, to }: { root: string; to: string }): Promise<void> => {
  const found = (await readdir(root, { recursive: true, withFileTypes: true })).find(
    (entry) =>
      // The loader is beside the C library; elsewhere there is a link to it.
      entry.isFile() && /^ld-linux.*\.so\.\d$/.test(entry.name),
  );
  if (found === undefined) throw new RuntimeError('unsupported', 'the packages contain no loader');
  await assemble({
    program: join(root, 'usr/sbin/criu'),
    loader: join(found.parentPath, found.name),
    libraries: found.parentPath,
    to,
  });
};

interface Parts {
  program: string;
  /** Undefined for a statically linked program. */
  loader: string | undefined;
  /** The folder that must contain all libraries; where the loader finds them by itself when absent. */
  libraries?: string;
  to: string;
}

/** Copies what the program loads, as listed by its own loader. */
const assemble = async ({ program, loader, libraries, to }: Parts): Promise<void> => {
  if (loader !== undefined) {
    const from = libraries === undefined ? [] : ['--library-path', libraries];
    const listing = await runCommand({ file: loader, args: [...from, '--list', program] });
    const loaded = [...listing.matchAll(/=> (\/\S+) \(/g)].map((match) => match[1] as string);
    if (libraries !== undefined && loaded.some((path) => !path.startsWith(`${libraries}/`))) {
      throw new RuntimeError('unsupported', `CRIU would load a library of the system: ${listing}`);
    }
    await mkdir(join(to, 'lib'));
    for (const path of new Set([...loaded, loader]))
      await copySynced(path, join(to, 'lib', path === loader ? 'ld.so' : basename(path)));
  }
  const found = await readFile(program);
  const asOwner = actAsOwner(found) ?? found;
  const changed = withoutTracked(asOwner) ?? asOwner;
  await writeProgram(join(to, 'criu'), changed);
  const plain = withPlainTmpfs(changed);
  if (plain !== undefined) await writeProgram(join(to, 'criu-plain'), plain);
};

const writeProgram = async (path: string, content: Uint8Array): Promise<void> => {
  await writeFile(path, content, { flush: true });
  await chmod(path, 0o755);
};
