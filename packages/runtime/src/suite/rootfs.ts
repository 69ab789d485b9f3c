import { access, mkdir, rename, rm } from 'node:fs/promises';
import { runCommand } from '../kernel/run-command.ts';

const cacheDir = '/var/cache/skerry/test-rootfs';

/**
 * An unpacked Debian for the runtime's tests: SKERRY_TEST_ROOTFS, or one that is made here once per machine. It needs
 * only a shell, perl, python and a setuid program.
 */
export const prepareSuiteRootfs = async (): Promise<string> => {
  const given = process.env.SKERRY_TEST_ROOTFS;
  if (given) return given;
  const path = `${cacheDir}/bookworm-python3`;
  const isThere = access(path).then(
    () => true,
    () => false,
  );
  if (await isThere) return path;
  const temporary = `${path}.${process.pid}`;
  await mkdir(cacheDir, { recursive: true });
  await runCommand({
    file: 'mmdebstrap',
    args: ['--quiet', '--variant=minbase', '--include=python3', 'bookworm', temporary],
    timeoutMs: 180_000,
  });
  await rename(temporary, path).catch((error: NodeJS.ErrnoException) => {
    // Another test run was faster.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  await rm(temporary, { recursive: true, force: true });
  return path;
};
