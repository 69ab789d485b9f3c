import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { release, version } from 'node:os';
import { findProgram } from '../../../kernel/find-program.ts';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import type { Runtime } from '../../../runtime.ts';
import type { TryPrograms } from '../opened-levels.ts';
import type { OciRuntimeName } from './oci-runtime.ts';

const MIB = 2 ** 20;

/**
 * Resolves with the first of crun and runc that starts a sandbox here, proved by starting one with an empty root: crun
 * refuses some arrangements of cgroups, and some kernels, that runc accepts. Undefined where neither works or is
 * installed: then each start reports why. A proof is kept in the data folder, and valid for the same program on the
 * same kernel.
 */
export const chooseRuntime = async ({
  dataDir,
  tryPrograms,
  onRefusal,
}: {
  dataDir: string;
  tryPrograms: TryPrograms;
  onRefusal: (name: OciRuntimeName, reason: unknown) => void;
}): Promise<OciRuntimeName | undefined> => {
  const path = `${dataDir}/run/oci-proof.json`;
  const kept = await readFile(path, 'utf8').catch(() => '');
  for (const name of ['crun', 'runc'] as const) {
    const program = findProgram(name);
    if (program === undefined) continue;
    const { size, mtimeMs } = await stat(program);
    const proof = JSON.stringify({ kernel: [release(), version()], program: [program, size, mtimeMs] });
    if (kept === proof) return name;
    try {
      await tryPrograms({ ociRuntime: name }, (runtime) => proveStart(runtime, { dataDir }));
    } catch (error) {
      onRefusal(name, error);
      continue;
    }
    await writeFile(`${path}.next`, proof);
    await rename(`${path}.next`, path);
    return name;
  }
  return undefined;
};

/** Rejects with the failure. Nothing of the sandbox is left. */
const proveStart = async (runtime: Runtime, { dataDir }: { dataDir: string }): Promise<void> => {
  const rootfs = `${dataDir}/run/empty`;
  await mkdir(rootfs, { recursive: true });
  const limits = { cpuCount: 0.5, memoryBytes: 256 * MIB, diskBytes: 32 * MIB, processCount: 50 };
  const spec = { id: `start${process.pid}`, rootfs, hostname: 'probe', limits };
  const instance = await runtime.create({ ...spec, network: CLOSED_NETWORK });
  await instance.stop();
};
