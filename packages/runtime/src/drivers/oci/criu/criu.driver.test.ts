import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Criu, findCriu } from './criu.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/criu-`);
  mkdirSync(`${folder}/lib`);
  writeFileSync(`${folder}/criu`, '');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Stands for CRIU's loader; succeeds after it was killed or failed as given in `ends`. */
const writeLoader = (ends: string[]): void => {
  const turns = ends.map((end, index) => `${index}) ${end};;`).join('\n');
  const script = `#!/bin/sh
turn=$(cat ${folder}/turns); echo $((turn + 1)) > ${folder}/turns
case $turn in
${turns}
esac
echo found > /run/criu.kdat
`;
  writeFileSync(`${folder}/turns`, '0');
  writeFileSync(`${folder}/lib/ld.so`, script);
  chmodSync(`${folder}/lib/ld.so`, 0o755);
};
const readTurns = (): number => Number(readFileSync(`${folder}/turns`, 'utf8'));

describe('finding CRIU', () => {
  const killed = 'kill -9 $$';

  it('is tried again when another process kills it, a limited number of times', () => {
    writeLoader([killed, killed]);
    expect(findCriu(folder)).toBeDefined();
    expect(readTurns()).toBe(3);
    writeLoader([killed, killed, killed]);
    expect(findCriu(folder)).toBeUndefined();
    expect(readTurns()).toBe(3);
  });

  it('is undefined where CRIU reports that it cannot work here', () => {
    writeLoader(['exit 1']);
    expect(findCriu(folder)).toBeUndefined();
    expect(readTurns()).toBe(1);
  });
});

describe('a restore', () => {
  it('fails without waiting for the liveness pipe where the program cannot enter its cgroups', async () => {
    writeLoader([]);
    const { restore } = findCriu(folder) as Criu;
    const restored = restore({
      imagesDir: folder,
      baseId: 900_000_000,
      livenessPipeId: 'file[1:1]',
      memoryBytes: 2 ** 20,
      root: folder,
      guestDir: folder,
      agentDir: folder,
      bootIdFile: undefined,
      emptyDir: folder,
      pidFile: `${folder}/pid`,
      memberFiles: [`${folder}/gone/cgroup.procs`],
      livenessFd: new Promise(() => undefined),
      shown: [],
      prepareMounts: () => undefined,
      prepareNetwork: undefined,
      signal: new AbortController().signal,
    });
    await expect(restored).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('no log'),
    });
  });
});
