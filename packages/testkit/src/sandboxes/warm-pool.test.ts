import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { expect, it } from 'vitest';
import { startStack } from '../stack/stack.ts';

/** Whether each sandbox that started so far was one that waited. */
const startedWarm = (log: string): boolean[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"sandbox started"'))
    .map((line) => (JSON.parse(line) as { warm: boolean }).warm);

/** Creates until a sandbox is one that waited; the pool fills up behind the requests. */
const createWarm = async (create: () => Promise<Sandbox>, log: () => string): Promise<Sandbox> => {
  for (;;) {
    const sandbox = await create();
    if (startedWarm(log()).at(-1)) return sandbox;
    await sandbox.kill();
    await delay(200);
  }
};

it('gives a sandbox that was started ahead its own id, variables and token, also after the server was killed', async () => {
  // Whether memory can be kept, which takes a while to find out, does not matter here.
  const args = ['--warm-min', '1', '--warm-max', '2', '--no-memory'];
  await using first = await startStack({ args });
  const create = () =>
    Sandbox.create({ ...first.connection, envs: { COLOUR: 'red' }, metadata: { for: 'warm' } });
  const sandbox = await createWarm(create, first.log);
  const shown = await sandbox.commands.run(
    'echo $COLOUR $E2B_SANDBOX_ID; whoami; cat /proc/sys/kernel/random/uuid',
  );
  expect(shown.stdout.split('\n').slice(0, 2)).toEqual([`red ${sandbox.sandboxId}`, 'user']);
  // What its agent did to be quick, while it waited, is not part of the sandbox.
  const { stdout: processes } = await sandbox.commands.run('cat /proc/[0-9]*/comm; ls -A /run/envd', {
    user: 'root',
  });
  expect(processes).not.toMatch(/rehearsal|defunct/);
  expect((await sandbox.commands.list()).length).toBe(0);
  const told = await sandbox.getLogs();
  expect(JSON.stringify(told)).not.toContain('tini');
  const listed = await Sandbox.list(first.connection).nextItems();
  expect(listed.map((row) => row.sandboxId)).toEqual([sandbox.sandboxId]);

  await first.kill();
  await using second = await startStack({ args: [...args, '--max-sandboxes', '2'], dataDir: first.dataDir });
  const other = await createWarm(
    () => Sandbox.create({ ...second.connection, envs: { COLOUR: 'blue' } }),
    second.log,
  );
  expect((await other.commands.run('echo $COLOUR $E2B_SANDBOX_ID')).stdout).toBe(`blue ${other.sandboxId}\n`);
  const again = await Sandbox.connect(sandbox.sandboxId, second.connection);
  expect((await again.commands.run('echo $COLOUR')).stdout).toBe('red\n');
  // What waits has no place, so it does not count.
  const impatient = { ...second.connection, requestTimeoutMs: 10_000 };
  await expect(Sandbox.create(impatient)).rejects.toThrow('the concurrency limit of 2 sandboxes');
  await second.down();
});
