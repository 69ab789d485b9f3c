import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { E2b, NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** Keeps memory, the default of every release. The oldest one names the call a beta. */
const pause = (sandbox: InstanceType<E2b['Sandbox']>): Promise<boolean> => {
  const newer = sandbox as Partial<Pick<InstanceType<NewestE2b['Sandbox']>, 'pause'>>;
  return newer.pause?.() ?? sandbox.betaPause();
};

/** Paused sandboxes, as every release sees them. */
export function pausingScenario(ask: Ask): void {
  it('sees that a sandbox is paused, and resumes it by connecting', async () => {
    const { Sandbox } = ask().e2b;
    const before = await Sandbox.create({ envs: { GREETING: 'hallo' }, metadata: { paused: 'soon' } });
    await before.files.write('kept', 'kept');
    const counter = await before.commands.run('n=0; while sleep 0.1; do n=$((n+1)); echo $n > count; done', {
      background: true,
      timeoutMs: 0,
    });
    // The kill of the sandbox ends the command, so this wait always rejects.
    counter.wait().catch(() => undefined);
    await expect.poll(() => before.files.exists('count')).toBe(true);
    expect(await pause(before)).toBe(true);
    expect(await pause(before)).toBe(false);
    expect(await before.isRunning()).toBe(false);
    expect((await Sandbox.getInfo(before.sandboxId)).state).toBe('paused');
    const query = { metadata: { paused: 'soon' }, state: ['paused' as const] };
    const found = await Sandbox.list({ query }).nextItems();
    expect(found.map(({ sandboxId }) => sandboxId)).toEqual([before.sandboxId]);

    const after = await Sandbox.connect(before.sandboxId);
    expect(after.sandboxId).toBe(before.sandboxId);
    expect((await after.commands.run('echo $GREETING $(cat kept)')).stdout).toBe('hallo kept\n');
    expect(await before.files.read('kept')).toBe('kept');
    expect((await after.getInfo()).state).toBe('running');
    expect((await after.commands.list()).map(({ pid }) => pid)).toContain(counter.pid);
    const count = Number(await after.files.read('count'));
    await expect.poll(async () => Number(await after.files.read('count'))).toBeGreaterThan(count);
    await after.kill();
  });

  it('kills a paused sandbox, which then refuses connections', async () => {
    const { Sandbox } = ask().e2b;
    const sandbox = await Sandbox.create();
    const { sandboxId } = sandbox;
    await pause(sandbox);
    expect(await Sandbox.kill(sandboxId)).toBe(true);
    expect(await Sandbox.kill(sandboxId)).toBe(false);
    await expect(Sandbox.connect(sandboxId)).rejects.toThrow();
  });
}

/** What the newest release says about pauses. */
export function newestPausingScenario(ask: Ask): void {
  const askNewest = () => ask().e2b as unknown as NewestE2b;

  it('resumes a paused sandbox by using it, when it was created so', async () => {
    const { Sandbox } = askNewest();
    const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
    const sandbox = await Sandbox.create({ lifecycle, timeoutMs: 60_000 });
    expect((await sandbox.getInfo()).lifecycle).toEqual(lifecycle);
    await sandbox.files.write('kept', 'kept');
    await sandbox.pause();
    expect((await Sandbox.getInfo(sandbox.sandboxId)).state).toBe('paused');
    expect((await sandbox.commands.run('cat kept')).stdout).toBe('kept');
    const { state, startedAt, endAt } = await sandbox.getInfo();
    expect([state, endAt.getTime() - startedAt.getTime()]).toEqual(['running', 300_000]);
    await sandbox.pause();
    expect(await sandbox.isRunning()).toBe(true);
    await sandbox.kill();
  });

  it('pauses without memory, says so once, and resumes', async () => {
    const { Sandbox } = askNewest();
    const sandbox = await Sandbox.create();
    await sandbox.files.write('kept', 'kept');
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect(await sandbox.pause({ keepMemory: false })).toBe(false);
    await sandbox.connect();
    expect(await sandbox.files.read('kept')).toBe('kept');
    await sandbox.kill();
    await expect(sandbox.pause({ keepMemory: false })).rejects.toThrow();
  });

  it.each([true, false])('has a sandbox paused at its end, keepMemory: %s', async (keepMemory) => {
    const { Sandbox } = askNewest();
    const onTimeout = { action: 'pause', keepMemory } as const;
    const sandbox = await Sandbox.create({ lifecycle: { onTimeout }, timeoutMs: 60_000 });
    expect((await sandbox.getInfo()).lifecycle).toMatchObject({ onTimeout: 'pause' });
    const { pid } = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    await sandbox.setTimeout(1_000);
    await delay(1_000);
    await expect.poll(async () => (await sandbox.getInfo()).state).toBe('paused');
    await sandbox.connect();
    expect(await sandbox.isRunning()).toBe(true);
    const pids = (await sandbox.commands.list()).map((command) => command.pid);
    expect(pids).toEqual(keepMemory ? [pid] : []);
    await sandbox.kill();
  });
}
