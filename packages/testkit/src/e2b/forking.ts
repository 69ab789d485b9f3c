import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

/** What the newest release says about copies of running sandboxes. */
export function newestForkingScenario(ask: Ask): void {
  const askNewest = () => ask().e2b as unknown as NewestE2b;

  it('forks a running sandbox, whose processes go on in every copy', async () => {
    const { Sandbox } = askNewest();
    const source = await Sandbox.create();
    const { pid } = await source.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    const forks = await source.fork({ count: 2, timeoutMs: 60_000 });
    expect(forks).toHaveLength(2);
    for (const fork of [source, ...forks]) {
      if (fork instanceof Error) throw fork;
      expect((await fork.commands.list()).map((command) => command.pid)).toEqual([pid]);
    }
    for (const fork of [source, ...forks]) {
      if (!(fork instanceof Error)) await fork.kill();
    }
    await expect(source.fork()).rejects.toThrow();
  });

  it('creates from a snapshot whose processes go on', async () => {
    const { Sandbox } = askNewest();
    const source = await Sandbox.create();
    const { pid } = await source.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    const { snapshotId } = await source.createSnapshot();
    await source.kill();
    const copy = await Sandbox.create(snapshotId);
    expect((await copy.commands.list()).map((command) => command.pid)).toEqual([pid]);
    await copy.kill();
    expect(await Sandbox.deleteSnapshot(snapshotId)).toBe(true);
  });
}
