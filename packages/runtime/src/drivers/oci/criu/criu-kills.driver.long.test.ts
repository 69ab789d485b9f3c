import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep, setImmediate as yieldTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create } = useOci({ name: 'edge', memory: true, internet: true });

/** Whether this is a process of the CRIU that dumps this sandbox. */
const isDump = (pid: string, id: string): boolean => {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return /\/criu(-plain)?\0dump\0/.test(command) && command.includes(`/${id}/`);
  } catch {
    return false; // The process has ended.
  }
};

/** The CRIU that dumps this sandbox, a child of this process, as soon as there is one; undefined once `isOver`. */
const findDump = async (id: string, isOver: () => boolean): Promise<number | undefined> => {
  while (!isOver()) {
    const children = readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' '),
    );
    const found = children.find((pid) => pid !== '' && isDump(pid, id));
    if (found !== undefined) return Number(found);
    await yieldTurn();
  }
  return undefined;
};

describe('CRIU', () => {
  it('can be killed at any moment of a pause: the sandbox continues, or has ended and is reported as ended', async () => {
    const outcomes: Record<string, number> = {};
    for (let round = 0; round < 10; round++) {
      const instance = await create();
      await runInside(instance, `setsid sh -c 'while sleep 0.02; do :; done' >/dev/null 2>&1 </dev/null &`);
      let outcome: 'paused' | 'refused' | undefined;
      const pausing = instance.pause({ memory: true }).then(
        () => {
          outcome = 'paused';
        },
        () => {
          outcome = 'refused';
        },
      );
      const pid = await findDump(instance.id, () => outcome !== undefined);
      await sleep(round * 15);
      if (pid !== undefined && isDump(String(pid), instance.id)) process.kill(pid, 'SIGKILL');
      await pausing;
      expect(readdirSync('/proc').filter((name) => isDump(name, instance.id))).toEqual([]);
      if (outcome === 'refused') await expect.poll(() => instance.state()).not.toBe('paused');
      const state = await instance.state();
      outcomes[`${outcome} ${state}`] = (outcomes[`${outcome} ${state}`] ?? 0) + 1;
      if (state === 'stopped') continue;
      if (state === 'paused') await instance.resume();
      expect((await runInside(instance, 'echo here')).output).toBe('here\n');
      await instance.pause({ memory: true });
      await instance.resume();
      expect((await runInside(instance, 'echo still')).output).toBe('still\n');
      await instance.stop();
    }
    expect(outcomes['refused running'] ?? 0, JSON.stringify(outcomes)).toBeGreaterThan(0);
  });
});
