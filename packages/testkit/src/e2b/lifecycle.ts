import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { Ask } from './given.ts';

/** Creating, finding and ending sandboxes. */
export function lifecycleScenario(ask: Ask): void {
  it('creates a sandbox with metadata, variables and a time to live, and describes it', async () => {
    const { Sandbox } = ask().e2b;
    const metadata = { 'user id': 'a&b=c/d', run: randomUUID() };
    const sandbox = await Sandbox.create({ metadata, envs: { GREETING: 'hallo' }, timeoutMs: 90_000 });
    expect(sandbox.sandboxId).toMatch(/^i[a-z0-9]{20}$/);
    expect(await sandbox.isRunning()).toBe(true);
    expect((await sandbox.commands.run('echo $GREETING $E2B_SANDBOX_ID')).stdout).toBe(
      `hallo ${sandbox.sandboxId}\n`,
    );

    const info = await sandbox.getInfo();
    const { template: name } = ask();
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, metadata, state: 'running', name });
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(90_000);
    expect(info.cpuCount).toBeGreaterThanOrEqual(1);
    expect(info.memoryMB).toBeGreaterThanOrEqual(128);
    expect(await Sandbox.getInfo(sandbox.sandboxId)).toEqual(info);
    await sandbox.kill();
  });

  it('finds sandboxes by their metadata, page by page', async () => {
    const { Sandbox } = ask().e2b;
    const metadata = { 'user id': 'ä & b=c/d+e%', run: randomUUID() };
    const made = await Promise.all([Sandbox.create({ metadata }), Sandbox.create({ metadata })]);
    const pages = Sandbox.list({ query: { metadata, state: ['running'] }, limit: 1 });
    const found: string[] = [];
    while (pages.hasNext) {
      const items = await pages.nextItems();
      expect(items).toHaveLength(1);
      found.push(...items.map(({ sandboxId }) => sandboxId));
    }
    expect(found.toSorted()).toEqual(made.map(({ sandboxId }) => sandboxId).toSorted());
    expect(await Sandbox.list({ query: { metadata: { run: 'another' } } }).nextItems()).toEqual([]);
    await Promise.all(made.map((sandbox) => sandbox.kill()));
  });

  it('connects to a running sandbox from elsewhere', async () => {
    const { e2b, sandbox } = ask();
    await sandbox.files.write('left-here', 'by the first');
    const same = await e2b.Sandbox.connect(sandbox.sandboxId);
    expect(same.sandboxId).toBe(sandbox.sandboxId);
    expect(await same.files.read('left-here')).toBe('by the first');
  });

  it('moves the end of a sandbox, also to now', async () => {
    const { Sandbox } = ask().e2b;
    const sandbox = await Sandbox.create({ timeoutMs: 60_000 });
    await sandbox.setTimeout(200_000);
    const left = (await sandbox.getInfo()).endAt.getTime() - Date.now();
    expect(left).toBeGreaterThan(195_000);
    expect(left).toBeLessThanOrEqual(201_000);
    await Sandbox.setTimeout(sandbox.sandboxId, 0);
    await expect.poll(() => sandbox.isRunning(), { interval: 50 }).toBe(false);
  });

  it('kills a sandbox once, with the commands that run in it', async () => {
    const { client, e2b } = ask();
    const { Sandbox, SandboxError, TimeoutError } = e2b;
    // The oldest release has one class for whatever the platform answers.
    const NotFound = client.generation === 'oldest' ? SandboxError : e2b.NotFoundError;
    const sandbox = await Sandbox.create();
    const sleep = await sandbox.commands.run('sleep 60', { background: true });
    const ended = sleep.wait().catch((error: unknown) => error);
    expect(await Sandbox.kill(sandbox.sandboxId)).toBe(true);
    expect(await ended).toBeInstanceOf(client.generation === 'newest' ? TimeoutError : SandboxError);
    expect(await Sandbox.kill(sandbox.sandboxId)).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);

    await expect(sandbox.files.read('anything')).rejects.toBeInstanceOf(TimeoutError);
    await expect(sandbox.files.list('/')).rejects.toBeInstanceOf(TimeoutError);
    await expect(sandbox.commands.run('true')).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(Sandbox.getInfo(sandbox.sandboxId)).rejects.toBeInstanceOf(NotFound);
    await expect(Sandbox.connect(sandbox.sandboxId)).rejects.toBeInstanceOf(NotFound);
    await expect(Sandbox.setTimeout(sandbox.sandboxId, 1_000)).rejects.toBeInstanceOf(NotFound);
  });

  it('tells what is wrong with a key, a template and a user', async () => {
    const { client, e2b, sandbox } = ask();
    const { AuthenticationError, Sandbox, SandboxError } = e2b;
    const key = await Sandbox.create({ apiKey: `e2b_${'0'.repeat(40)}` }).catch((error: unknown) => error);
    expect(key).toBeInstanceOf(client.generation === 'oldest' ? SandboxError : AuthenticationError);
    expect(String(key)).toContain('key');
    const template = await Sandbox.create('no-such-template').catch((error: unknown) => error);
    expect(template).toBeInstanceOf(SandboxError);
    expect(String(template)).toContain('404: template "no-such-template" was not found');
    const user = 'nobody-here' as 'user';
    await expect(sandbox.commands.run('true', { user })).rejects.toBeInstanceOf(AuthenticationError);
  });

  it('reads what a sandbox uses', async () => {
    const { sandbox } = ask();
    const { cpuCount, memoryMB } = await sandbox.getInfo();
    const metrics = await vi.waitUntil(
      async () => {
        const found = await sandbox.getMetrics();
        return found.length > 0 && found;
      },
      { timeout: 60_000, interval: 500 },
    );
    const [first] = metrics;
    expect(first).toMatchObject({ cpuCount, memTotal: memoryMB * 2 ** 20 });
    expect(first?.timestamp).toBeInstanceOf(Date);
    expect(first?.memUsed).toBeGreaterThan(5 * 2 ** 20);
    expect(first?.memUsed).toBeLessThan(memoryMB * 2 ** 20);
    expect(first?.cpuUsedPct).toBeGreaterThanOrEqual(0);
    expect(first?.cpuUsedPct).toBeLessThanOrEqual(100);
    expect(first?.diskUsed).toBeGreaterThan(0);
    expect(first?.diskTotal).toBeGreaterThan(first?.diskUsed ?? 0);
  });
}
