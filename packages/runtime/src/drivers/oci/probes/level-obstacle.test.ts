import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { release, tmpdir, version } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findLevelObstacle, hasLevelWorked } from './level-obstacle.ts';

const onHostWith =
  (...names: string[]) =>
  (name: string) =>
    names.includes(name) ? `/usr/bin/${name}` : undefined;

it.each([
  { level: 'container', rootless: true, programs: ['runc'], obstacle: undefined },
  { level: 'container', rootless: false, programs: [], obstacle: 'it needs crun: apt-get install -y crun' },
  { level: 'gvisor', rootless: false, programs: ['apt-get'], obstacle: undefined },
  { level: 'gvisor', rootless: false, programs: ['runsc'], obstacle: undefined },
  { level: 'gvisor', rootless: true, programs: ['runsc'], obstacle: 'it needs root' },
  {
    level: 'gvisor',
    rootless: false,
    programs: ['crun'],
    obstacle: 'it needs runsc, which only apt-get can fetch here',
  },
] as const)('finds $obstacle against $level with $programs, rootless $rootless', ({ obstacle, ...host }) => {
  expect(findLevelObstacle(host.level, { rootless: host.rootless, find: onHostWith(...host.programs) })).toBe(
    obstacle,
  );
});

describe('the proof that a level has worked', () => {
  const levels = [
    { level: 'container', program: 'criu/criu', proof: 'criu-proof.json' },
    { level: 'gvisor', program: 'runsc/runsc', proof: 'gvisor-proof.json' },
  ] as const;

  it.each(levels)('of $level is for this kernel and this program', async ({ level, ...names }) => {
    const programsDir = await mkdtemp(join(tmpdir(), 'level-proof-'));
    onTestFinished(() => rm(programsDir, { recursive: true }));
    const hasWorked = () => hasLevelWorked(level, { programsDir, find: onHostWith() });
    const program = join(programsDir, names.program);
    const keep = (proof: object) => writeFile(join(programsDir, names.proof), JSON.stringify(proof));
    expect(await hasWorked()).toBe(false);
    await mkdir(dirname(program));
    await writeFile(program, 'a program');
    const { size, mtimeMs } = await stat(program);
    const proof = { version: 2, kernel: [release(), version()], program: [size, mtimeMs], on: 'oci-any' };
    expect(await hasWorked()).toBe(false);
    await keep(proof);
    expect(await hasWorked()).toBe(true);
    for (const other of [{ kernel: ['1.0', version()] }, { version: 1 }, { program: [size + 1, mtimeMs] }]) {
      await keep({ ...proof, ...other });
      expect(await hasWorked(), JSON.stringify(other)).toBe(false);
    }
    await writeFile(join(programsDir, names.proof), '{');
    expect(await hasWorked()).toBe(false);
  });
});
