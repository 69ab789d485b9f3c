import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { prepareCriu } from './criu/prepare-criu.ts';
import { openOci } from './open.ts';
import { hasLevelWorked } from './probes/level-obstacle.ts';
import { useOci } from './testing/oci-fixture.ts';

const oci = useOci({ name: 'open', memory: true });

it('a driver that has proved that memory is kept leaves the folder of CRIU as it was', async () => {
  const targetDir = join(oci.base, 'programs');
  await mkdir(targetDir);
  await cp(oci.criuDir as string, join(targetDir, 'criu'), { recursive: true });
  const criuDir = await prepareCriu({ targetDir });
  const { runtime, close } = await openOci(
    { keepsMemory: true, programsDir: targetDir },
    {
      dataDir: oci.dataDir,
      agentDir: oci.agentDir,
      stateDir: oci.stateDir,
      rootless: undefined,
      startsNone: false,
    },
  );
  try {
    expect(runtime.features.pause.memory).toBe(true);
    expect(JSON.parse(await readFile(`${criuDir}-proof.json`, 'utf8'))).toMatchObject({ on: runtime.name });
    expect(await hasLevelWorked('container', { programsDir: targetDir })).toBe(true);
    expect(await hasLevelWorked('gvisor', { programsDir: targetDir })).toBe(false);
    expect(await prepareCriu({ targetDir })).toBe(criuDir);
  } finally {
    await close();
  }
});
