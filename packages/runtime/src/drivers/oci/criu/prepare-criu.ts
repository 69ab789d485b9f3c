import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import { runCommand } from '../../../kernel/run-command.ts';
import { syncPath } from '../../../kernel/sync-path.ts';
import { copySynced, fetchDebianProgram } from '../../fetch-debian-program.ts';
import { standForRoot, withoutGzip, withoutTracked } from './criu-program.ts';

/**
 * Resolves with a folder that has CRIU 4.2 or later as `criu`, where possible another one as `criu-plain` that compresses
 * nothing, and their loader and libraries in `lib/`: that of Debian 12 does not work on current kernels. Rejects with
 * `unsupported` and a reason when it cannot be had.
 */
export const prepareCriu = async (options: { targetDir: string; signal?: AbortSignal }): Promise<string> => {
  const program = { name: 'criu', release: 'sid', purpose: 'memory is not kept', assemble };
  const dir = await fetchDebianProgram(program, options);
  await change(dir);
  return dir;
};

/** Also in a folder that was made before this was done. */
const change = async (dir: string): Promise<void> => {
  const found = await readFile(join(dir, 'criu'));
  const program = withoutTracked(found) ?? found;
  const plain = withoutGzip(program);
  const hasPlain = (await readdir(dir)).includes('criu-plain');
  try {
    if (program !== found) await replace(join(dir, 'criu'), program);
    if (plain && !hasPlain) await replace(join(dir, 'criu-plain'), plain);
    await syncPath(dir);
  } catch {
    // Where the folder cannot be written, memory is kept all the same, in more time.
  }
};

const replace = async (path: string, program: Buffer): Promise<void> => {
  const next = `${path}.${randomUUID()}`;
  await writeFile(next, program, { mode: 0o755, flush: true });
  await chmod(next, 0o755);
  await rename(next, path);
};

/** Takes what the program loads, as its own loader lists it. */
const assemble = async ({ root, to }: { root: string; to: string }): Promise<void> => {
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
  await mkdir(join(to, 'lib'));
  const loaded = [...listing.matchAll(/=> (\/\S+) \(/g)].map((match) => match[1] as string);
  if (loaded.some((path) => !path.startsWith(root))) {
    throw new RuntimeError('unsupported', `CRIU would load a library of the system: ${listing}`);
  }
  const program = join(root, 'usr/sbin/criu');
  await writeFile(program, standForRoot(await readFile(program)));
  await copySynced(program, join(to, 'criu'));
  for (const path of new Set([...loaded, loader])) {
    await copySynced(path, join(to, 'lib', path === loader ? 'ld.so' : basename(path)));
  }
};
