import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { prepareCriu } from './criu/prepare-criu.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import { type OciSettings, openOci } from './open.ts';
import { hasLevelWorked } from './probes/level-obstacle.ts';
import { useOci } from './testing/oci-fixture.ts';
import { runWithReplacedPrograms } from './testing/run-with-replaced-programs.ts';

const oci = useOci({ name: 'open', memory: true });

const open = (settings: OciSettings) =>
  openOci(settings, {
    dataDir: oci.dataDir,
    agentDir: oci.agentDir,
    stateDir: oci.stateDir,
    rootless: undefined,
    gatewayProgram: undefined,
    startsNone: false,
  });

it('a driver that has proved that memory is kept leaves the folder of CRIU as it was', async () => {
  const targetDir = join(oci.base, 'programs');
  await mkdir(targetDir);
  await cp(oci.criuDir as string, join(targetDir, 'criu'), { recursive: true });
  const criuDir = await prepareCriu({ targetDir });
  const runsc = await prepareRunsc({ targetDir: '/var/cache/skerry' });
  await cp(dirname(runsc), join(targetDir, 'runsc'), { recursive: true });
  const { runtime, close } = await open({ keepsMemory: true, programsDir: targetDir });
  try {
    expect(runtime.features.pause.memory).toBe(true);
    expect(JSON.parse(await readFile(`${criuDir}-proof.json`, 'utf8'))).toMatchObject({ on: runtime.name });
    expect(await hasLevelWorked('container', { programsDir: targetDir })).toBe(true);
    expect(Object.keys(runtime.features.levels)).toEqual(['container', 'gvisor']);
    expect(runtime.features).toMatchObject({ level: 'container', minimumLevel: 'container' });
    expect(await prepareCriu({ targetDir })).toBe(criuDir);
  } finally {
    await close();
  }
});

it('a level that is not the default opens at its first use, which proves that its memory is kept', async () => {
  const programsDir = join(oci.base, 'later');
  await mkdir(programsDir);
  await cp(oci.criuDir as string, join(programsDir, 'criu'), { recursive: true });
  const { runtime, close } = await open({ keepsMemory: true, programsDir });
  try {
    expect(runtime.features.levels.gvisor).toMatchObject({ isExpected: true, pause: { memory: true } });
    expect(await hasLevelWorked('gvisor', { programsDir })).toBe(false);
    const runsc = await prepareRunsc({ targetDir: '/var/cache/skerry' });
    await cp(dirname(runsc), join(programsDir, 'runsc'), { recursive: true });
    const seen: string[] = [];
    const spec = { rootfs: oci.rootfs, ...oci.settings, isolation: 'gvisor' } as const;
    const creating = Promise.all([
      runtime.create({ id: oci.toId(), ...spec }),
      runtime.create({ id: oci.toId(), ...spec }),
    ]);
    const isDone = creating.then(() => true);
    while (!(await Promise.race([isDone, setTimeout(20, false)])))
      for await (const { id } of runtime.list()) seen.push(id);
    const made = await creating;
    expect(made.map(({ isolation }) => isolation)).toEqual(['gvisor', 'gvisor']);
    // A server removes what it lists and has not made.
    expect(seen.filter((id) => !made.some((one) => one.id === id))).toEqual([]);
    expect(await hasLevelWorked('gvisor', { programsDir })).toBe(true);
    expect(runtime.features.levels.gvisor).toEqual({
      pause: { memory: true, filesystem: true },
      snapshot: { memory: true, filesystem: true },
    });
    for (const one of made) await one.stop();
  } finally {
    await close();
  }
});

it('a level whose programs cannot be used refuses each create with the reason, and no other level does', async () => {
  // The programs are refused: another user may write them.
  const programsDir = join(oci.base, 'foreign');
  await mkdir(join(programsDir, 'runsc'), { recursive: true });
  await writeFile(join(programsDir, 'runsc/runsc'), '', { mode: 0o777 });
  await chmod(join(programsDir, 'runsc/runsc'), 0o777);
  await expect(open({ level: 'gvisor', programsDir })).rejects.toMatchObject({ code: 'unsupported' });
  const { runtime, close } = await open({ programsDir });
  try {
    const spec = { rootfs: oci.rootfs, ...oci.settings };
    await expect(runtime.create({ id: oci.toId(), ...spec, isolation: 'gvisor' })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('no sandbox of level gvisor starts on this host: '),
    });
    const other = await runtime.create({ id: oci.toId(), ...spec });
    expect(other.isolation).toBe('container');
    await other.stop();
  } finally {
    await close();
  }
});

it('a level container that is not the default chooses the OCI runtime that starts a sandbox here', async () => {
  const module = fileURLToPath(new URL('./open.ts', import.meta.url));
  const { dataDir, agentDir, stateDir, rootfs } = oci;
  const settings = { level: 'gvisor', minimumLevel: 'container', programsDir: '/var/cache/skerry' };
  const spec = { id: oci.toId(), rootfs, ...oci.settings, isolation: 'container' };
  const output = await runWithReplacedPrograms(
    { crun: '/bin/false' },
    `import { openOci } from ${JSON.stringify(module)};
    const where = { ...${JSON.stringify({ dataDir, agentDir, stateDir })}, startsNone: false };
    const { runtime, close } = await openOci(${JSON.stringify(settings)}, where);
    const made = await runtime.create(${JSON.stringify(spec)});
    const { isolation } = made;
    await made.stop();
    const left = (await Array.fromAsync(runtime.list())).length;
    await close();
    console.log(JSON.stringify({ isolation, left }));`,
  );
  expect(JSON.parse(output)).toEqual({ isolation: 'container', left: 0 });
});

it('no level below the minimum is offered', async () => {
  const { runtime, close } = await open({ level: 'gvisor', programsDir: '/var/cache/skerry' });
  try {
    expect(runtime.features).toMatchObject({ level: 'gvisor', minimumLevel: 'gvisor' });
    expect(Object.keys(runtime.features.levels)).toEqual(['gvisor']);
  } finally {
    await close();
  }
});
