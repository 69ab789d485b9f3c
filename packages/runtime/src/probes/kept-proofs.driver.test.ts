import { copyFile, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isolationLevels } from '@skerry/contract/isolation';
import { expect, it, onTestFinished } from 'vitest';
import { prepareCriu } from '../drivers/oci/criu/prepare-criu.ts';
import { prepareRunsc } from '../drivers/oci/gvisor/prepare-runsc.ts';
import { hasLevelWorked } from '../drivers/oci/probes/level-obstacle.ts';
import { prepareSuiteBundle } from '../suite/agent.ts';
import { probeHost } from './probe-host.ts';

it('keeps its proofs where the next start of a server reads them, of both levels, and none for another CRIU', async () => {
  const makeFolder = async (parent: string): Promise<string> => {
    const path = await mkdtemp(join(parent, 'proofs-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    return path;
  };
  const [scratchDir, programsDir] = [await makeFolder('/var/tmp'), await makeFolder('/var/tmp')];
  const agentBundle = await prepareSuiteBundle(await makeFolder(tmpdir()));
  const shared = { targetDir: '/var/cache/skerry' };
  const [criuDir, runscPath] = [join(programsDir, 'criu'), join(programsDir, 'runsc/runsc')];
  await cp(await prepareCriu(shared), criuDir, { recursive: true });
  await mkdir(join(programsDir, 'runsc'));
  await copyFile(await prepareRunsc(shared), runscPath);
  const haveWorked = () =>
    Promise.all(
      isolationLevels.map((level) => hasLevelWorked(level, { programsDir, find: () => undefined })),
    );
  const probe = (more: object) =>
    Array.fromAsync(probeHost({ agentBundle, scratchDir, runscPath, programsDir, ...more }));
  await probe({ criuProgram: join(criuDir, 'none') });
  expect(await haveWorked()).toEqual([false, true]);
  await probe({ criuDir });
  expect(await haveWorked()).toEqual([true, true]);
});
