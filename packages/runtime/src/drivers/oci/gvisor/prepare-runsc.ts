import { join } from 'node:path';
import { findProgram } from '../../../kernel/find-program.ts';
import { runCommand } from '../../../kernel/run-command.ts';
import { copySynced, fetchDebianProgram } from '../../fetch-debian-program.ts';
import { requireOwnProgram } from '../../own-files.ts';
import { checkProgramHashes } from '../../program-hashes.ts';

/**
 * The first release whose gofer makes sockets in folders of the host on request, and which does not keep options of its
 * own.
 */
const OLDEST = 20_240_729;

/**
 * Resolves with the path of gVisor's `runsc`: the host's own where that is new enough, and otherwise one that is
 * unpacked into `targetDir`. It loads no library. Rejects with `unsupported` and a reason when it cannot be fetched.
 */
export const prepareRunsc = async (options: {
  targetDir: string;
  signal?: AbortSignal | undefined;
}): Promise<string> => {
  const own = findProgram('runsc');
  if (own !== undefined) requireOwnProgram(own);
  if (own !== undefined && (await readDay(own)) >= OLDEST) return own;
  const folder = await fetchDebianProgram(
    { name: 'runsc', release: 'bookworm-backports', purpose: 'there is no level gvisor', assemble },
    options,
  );
  await checkProgramHashes(folder);
  return join(folder, 'runsc');
};

const assemble = ({ root, to }: { root: string; to: string }): Promise<void> =>
  copySynced(join(root, 'usr/bin/runsc'), join(to, 'runsc'));

/** The day of the release as a number; 0 where there is none, or the program does not run. */
const readDay = async (program: string): Promise<number> => {
  // The host's program is not used then, whatever the reason: Debian's is.
  const version = (await readRunscVersion(program).catch(() => undefined)) ?? '';
  return Number(/^\D*(?:0\.0~)?(\d{8})/.exec(version)?.[1] ?? 0);
};

/** Resolves with the version that the program reports; undefined when it reports none. Rejects as `runCommand`. */
export const readRunscVersion = async (program: string): Promise<string | undefined> =>
  /^runsc version (\S+)/.exec(await runCommand({ file: program, args: ['--version'] }))?.[1];
