import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** By the API itself: older releases have no way to say that the files are enough. */
const pauseFiles = async (sandboxId: string): Promise<void> => {
  const { E2B_API_URL, E2B_DOMAIN, E2B_API_KEY = '' } = process.env;
  const url = `${E2B_API_URL ?? `https://api.${E2B_DOMAIN}`}/sandboxes/${sandboxId}/pause`;
  const headers = { 'X-API-Key': E2B_API_KEY, 'content-type': 'application/json' };
  const { status } = await fetch(url, { method: 'POST', headers, body: '{"memory":false}' });
  expect(status).toBe(204);
};

/** Paused sandboxes, as every release sees them. */
export function pausingScenario(ask: Ask): void {
  it('sees that a sandbox is paused, and resumes it by connecting', async () => {
    const { Sandbox } = ask().e2b;
    const before = await Sandbox.create({ envs: { GREETING: 'hallo' }, metadata: { paused: 'soon' } });
    await before.files.write('kept', 'kept');
    await pauseFiles(before.sandboxId);
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
    await after.kill();
  });

  it('kills a paused sandbox, to which nobody connects any more', async () => {
    const { Sandbox } = ask().e2b;
    const { sandboxId } = await Sandbox.create();
    await pauseFiles(sandboxId);
    expect(await Sandbox.kill(sandboxId)).toBe(true);
    expect(await Sandbox.kill(sandboxId)).toBe(false);
    await expect(Sandbox.connect(sandboxId)).rejects.toThrow();
  });
}

/** What the newest release says about pauses. */
export function newestPausingScenario(ask: Ask): void {
  const askNewest = () => ask().e2b as unknown as NewestE2b;

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

  it('has a sandbox paused at its end', async () => {
    const { Sandbox } = askNewest();
    const onTimeout = { action: 'pause', keepMemory: false } as const;
    const sandbox = await Sandbox.create({ lifecycle: { onTimeout }, timeoutMs: 60_000 });
    expect((await sandbox.getInfo()).lifecycle).toMatchObject({ onTimeout: 'pause' });
    await sandbox.setTimeout(1_000);
    await delay(1_000);
    await expect.poll(async () => (await sandbox.getInfo()).state, { timeout: 5_000 }).toBe('paused');
    await sandbox.connect();
    expect(await sandbox.isRunning()).toBe(true);
    await sandbox.kill();
  });
}
