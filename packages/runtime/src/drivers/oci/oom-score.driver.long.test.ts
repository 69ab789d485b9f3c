import { expect, it } from 'vitest';
import type { Instance } from '../../runtime.ts';
import { runInside } from '../../suite/client.ts';
import { useOci } from './testing/oci-fixture.ts';
import { useSentry } from './testing/sentry-lab.ts';

/**
 * Prints a line for the first process, the agent and the command; each raises and lowers its score first, as the agent
 * does to start a command.
 */
const look = `
for name in tini node sleep; do
  for folder in /proc/[0-9]*; do
    program=$(tr '\\0' '\\n' < $folder/cmdline | head -n 1)
    [ "\${program##*/}" = $name ] || continue
    score=$(cat $folder/oom_score_adj)
    [ $name = sleep ] || { echo 500 > $folder/oom_score_adj && echo 0 > $folder/oom_score_adj; } || echo refused
    echo "$name $score $(cat $folder/oom_score_adj)"
  done
done 2>&1`;
const expected = 'tini 0 0\nnode 0 0\nsleep 500 500\n';

const startCommand = async (instance: Instance): Promise<void> => {
  const { output } = await runInside(
    instance,
    `echo 500 > /proc/self/oom_score_adj || exit
     setsid sh -c 'echo 500 > /proc/$$/oom_score_adj; touch /root/ready; exec sleep 1000' > /dev/null 2>&1 < /dev/null &
     until [ -e /root/ready ]; do sleep 0.02; done; sleep 0.1`,
  );
  expect(output).toBe('');
};

const fixtures = {
  container: useOci({ name: 'oomscore', memory: true }),
  gvisor: useSentry('oomgvisor'),
};

it.each(['container', 'gvisor'] as const)(
  'is 0 for the agent and 500 for commands before and after a resume and in forks, and may go back to that: %s',
  async (level) => {
    const { create, toId } = fixtures[level];
    const instance = await create();
    await startCommand(instance);
    expect((await runInside(instance, look)).output).toBe(expected);
    await instance.pause({ memory: true });
    await instance.resume({ memory: true });
    expect((await runInside(instance, look)).output).toBe(expected);
    const snapshot = toId();
    await instance.snapshot({ id: snapshot, memory: true });
    for (const one of [instance, await create({ snapshot })])
      expect((await runInside(one, look)).output).toBe(expected);
  },
);
