import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RuntimeError } from './error.ts';
import { copySynced, fetchDebianProgram } from './fetch-debian-program.ts';
import { runCommand } from './run-command.ts';

/**
 * Resolves with a folder that has CRIU 4.2 or later as `criu`, with its own loader and libraries in `lib/`: that of
 * Debian 12 does not work on current kernels. Rejects with `unsupported` and a reason when it cannot be had.
 */
export const prepareCriu = (options: { targetDir: string; signal?: AbortSignal }): Promise<string> =>
  fetchDebianProgram({ name: 'criu', release: 'sid', purpose: 'memory is not kept', assemble }, options);

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
  await standForRoot(join(root, 'usr/sbin/criu'));
  await copySynced(join(root, 'usr/sbin/criu'), join(to, 'criu'));
  for (const path of new Set([...loaded, loader])) {
    await copySynced(path, join(to, 'lib', path === loader ? 'ld.so' : basename(path)));
  }
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
