import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAlive } from '../../suite-client.ts';
import { expectOn, readCounter, startCounter, useOwnKernel } from './own-kernel-lab.ts';

const oci = useOwnKernel('ownk');

/** A program that is runsc, but for the time in its life that `killAt` says: that one is killed soon. */
const prepareMortal = async (): Promise<{ path: string; killAt: (turn: number) => Promise<void> }> => {
  const [path, at] = [join(oci.base, 'bin', 'runsc'), join(oci.base, 'at')];
  await mkdir(join(oci.base, 'bin'));
  await writeFile(
    path,
    `#!/bin/sh
if [ -f ${at} ]; then
  left=$(( $(cat ${at}) - 1 )); echo $left > ${at}
  if [ $left = 0 ]; then ${oci.runscPath} "$@" & sleep 0.01; kill -9 $! $$; fi
fi
exec ${oci.runscPath} "$@"
`,
  );
  await chmod(path, 0o755);
  return { path, killAt: (turn) => writeFile(at, `${turn}`) };
};

/** That many of it make a snapshot: two signals and one that stops, the images, and what lets it all go on again. */
const PROGRAMS = 10;

describe('a runsc that is killed while a snapshot with memory is made', () => {
  it('leaves everything inside as it was, and the agent within reach', async () => {
    const { path, killAt } = await prepareMortal();
    await oci.reopen({ runscPath: path });
    const instance = await oci.create();
    await startCounter(instance);
    const ends = new Set<string>();
    for (let turn = 1; turn <= PROGRAMS; turn++) {
      const last = await readCounter(instance);
      await killAt(turn);
      const id = oci.toId();
      const made = instance.snapshot({ id, memory: true, lasting: false });
      ends.add(
        await made.then(
          () => 'made',
          ({ code }: { code: string }) => code,
        ),
      );
      expect(Number(await readFile(join(oci.base, 'at'), 'utf8')), `turn ${turn}`).toBeLessThanOrEqual(0);
      await rm(join(oci.base, 'at'));
      expect(await isAlive(instance), `turn ${turn}`).toBe(true);
      await expectOn(instance, last);
      await oci.runtime.snapshots.delete(id);
    }
    expect([...ends]).toEqual(expect.arrayContaining(['made', 'exhausted']));
  }, 120_000);
});
