import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { isAlive } from '../../../suite/client.ts';
import { expectOn, readCounter, startCounter, useSentry } from '../testing/sentry-lab.ts';

const program = fileURLToPath(new URL('../testing/snapshot-endlessly.ts', import.meta.url));
const oci = useSentry('ownk');
const toPath = (name: string): string => join(oci.base, 'bin', name);

/** A program that runs runsc after `prelude`, a part of a shell script. Below a closed folder, as in a home. */
const writeProgram = async (prelude: string): Promise<string> => {
  const path = toPath('runsc');
  await writeFile(path, `#!/bin/sh\n${prelude}\nexec ${oci.runscPath} "$@"\n`);
  await chmod(path, 0o755);
  return path;
};
beforeEach(() => mkdir(toPath('.'), { recursive: true }));

describe('a runsc that is killed while a snapshot with memory is made', () => {
  /**
   * The commands that make a snapshot: a signal to the agent, two to all, one that stops, the images, five that
   * continue all.
   */
  const PROGRAMS = 10;

  it.each([
    ['at once', 'kill -9 $$'],
    ['soon', '$runsc "$@" & sleep 0.01; kill -9 $! $$'],
  ])('%s leaves everything inside running, and the agent can be reached', async (_, end) => {
    const at = toPath('at');
    const path = await writeProgram(`runsc=${oci.runscPath}
if [ -f ${at} ]; then
  left=$(( $(cat ${at}) - 1 )); echo $left > ${at}
  if [ $left = 0 ]; then ${end}; fi
fi`);
    await oci.reopen({ runscPath: path });
    const instance = await oci.create();
    await startCounter(instance);
    const ends = new Set<string>();
    for (let turn = 1; turn <= PROGRAMS; turn++) {
      const last = await readCounter(instance);
      await writeFile(at, `${turn}`);
      const id = oci.toId();
      const made = instance.snapshot({ id, memory: true, ephemeral: true });
      ends.add(
        await made.then(
          () => 'made',
          ({ code }: { code: string }) => code,
        ),
      );
      expect(Number(await readFile(at, 'utf8')), `turn ${turn}`).toBeLessThanOrEqual(0);
      await rm(at);
      expect(await isAlive(instance), `turn ${turn}`).toBe(true);
      await expectOn(instance, last);
      await oci.runtime.snapshots.delete(id);
    }
    expect([...ends]).toEqual(expect.arrayContaining(['made', 'exhausted']));
  });
});

describe('a driver that is killed while a snapshot with memory is made', () => {
  it.each(['STOP', 'pause', 'checkpoint'])(
    'leaves nothing that stops the sandbox later: %s',
    async (word) => {
      const [slow, begun] = [toPath('slow'), toPath('begun')];
      const path = await writeProgram(`if [ -f ${slow} ]; then
  case " $* " in *" ${word} "*) echo x > ${begun}; sleep 1;; esac
fi`);
      const id = oci.toId();
      await oci.runtime.close();
      const args = [program, oci.dataDir, oci.agentDir, oci.rootfs, id, path];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const [said] = await once(child.stdout.setEncoding('utf8'), 'data');
      expect(said).toContain('made');
      await writeFile(slow, 'x');
      await expect.poll(() => existsSync(begun), { interval: 1 }).toBe(true);
      child.kill('SIGKILL');
      await once(child, 'close');
      await Promise.all([slow, begun].map((file) => rm(file)));
      await oci.reopen({ runscPath: path });
      const instance = await oci.runtime.get(id);
      expect(await isAlive(instance)).toBe(true);
      // Longer than the program would have waited.
      await sleep(1_500);
      expect(await isAlive(instance)).toBe(true);
    },
  );
});
