import { describe, expect, it } from 'vitest';
import { emptyRunConfig } from '../build-rows.ts';
import type { Store } from '../store.ts';
import { newSandbox } from './new-sandbox.ts';

/** How a store measures and removes what nothing needs: a part of `describeStore`. */
export const describeUsage = (ask: () => Store): void => {
  const size = { cpuCount: 1, memoryMb: 128, diskMb: 1 };
  const add = async (id: string, { name = 'made', createdAt = 1, tag = 'default', isReady = true } = {}) => {
    await ask().addBuild(
      { project: 'local', id, createdAt, ...size, minFreeDiskMb: 0, isolation: null, tags: [tag] },
      { templateId: `t-${name}`, name, superseded: '' },
    );
    await ask().startBuild(id, 2);
    await ask().addBuildLog(id, [{ at: 1, level: 'info', message: 'four', step: null }]);
    const rest = { env: {}, runConfig: emptyRunConfig, start: null, checkpointId: null, isolation: null };
    if (isReady)
      await ask().finishBuild(id, { finishedAt: 3, image: `sha256:${id}`, imageBytes: 1, ...rest });
  };
  const logged = async (id: string): Promise<number> =>
    (await ask().listBuildLog(id, { levels: ['info'], offset: 0, limit: 10 })).length;

  describe('what a store may remove', () => {
    it('removes the logs of builds without a tag, but of the newest of each template', async () => {
      for (const number of [1, 2, 3, 4]) await add(`b${number}`, { createdAt: number });
      await add('other', { name: 'other', createdAt: 0 });
      await add('tagged', { createdAt: 0, tag: 'old' });
      await add('running', { name: 'third', createdAt: 0, isReady: false });
      expect(await ask().measureLogs({ endedBefore: 4 })).toEqual({
        builds: { count: 7, sizeBytes: 28, unneededCount: 3, unneededBytes: 12 },
        sandboxes: { count: 0, sizeBytes: 0 },
      });
      await ask().pruneBuildLogs({ keepPerTemplate: 2, endedBefore: 4 });
      const all = ['b1', 'b2', 'b3', 'b4', 'other', 'tagged', 'running'];
      expect(await Promise.all(all.map(logged))).toEqual([0, 0, 1, 1, 1, 1, 1]);
      // All of them have ended at 3.
      await ask().pruneBuildLogs({ keepPerTemplate: 0, endedBefore: 3 });
      expect(await Promise.all(all.map(logged))).toEqual([0, 0, 1, 1, 1, 1, 1]);
      await ask().pruneBuildLogs({ keepPerTemplate: 0, endedBefore: 4 });
      expect(await Promise.all(all.map(logged))).toEqual([0, 0, 0, 1, 1, 1, 1]);
    });

    it('lists templates that nothing uses, and builds whose images are kept', async () => {
      await add('used', { name: 'used' });
      await add('unused', { name: 'unused' });
      await add('captured', { name: 'captured' });
      await add('running', { name: 'running', isReady: false });
      const sandbox = newSandbox('i1', { templateId: 't-used', templateName: 'used', buildId: 'used' });
      await ask().reserveSandbox(sandbox, { maxActive: 9 });
      const of = {
        sandboxId: 'i0',
        parentId: null,
        isolation: 'container' as const,
        buildId: 'captured',
        kind: 'filesystem' as const,
      };
      await ask().beginSnapshot({ id: 's1', project: 'local', ...of, createdAt: 1, ...size });
      expect(await ask().listUnusedTemplates()).toEqual([{ id: 't-unused', name: 'unused' }]);
      expect((await ask().listKeptBuilds()).map(({ templateId }) => templateId).toSorted()).toEqual([
        ...['t-captured', 't-unused', 't-used'],
      ]);
    });

    it('removes a template that is listed with its builds and its checkpoint, and the image unless a result needs it', async () => {
      const of = { sandboxId: 'i0', parentId: null, isolation: 'container' as const, createdAt: 1, ...size };
      for (const name of ['served', 'waiting']) {
        await ask().beginSnapshot({
          id: `n-${name}`,
          project: 'local',
          ...of,
          buildId: name,
          kind: 'memory',
        });
        await add(name, { name, isReady: false });
        const start = { startCmd: 'serve', readyCmd: null, user: 'user', workdir: '/', env: {} };
        const rest = {
          env: {},
          runConfig: emptyRunConfig,
          start,
          checkpointId: `n-${name}`,
          isolation: null,
          image: `sha256:${name}`,
          imageBytes: 1,
        };
        await ask().finishBuild(name, { finishedAt: 3, ...rest });
      }
      await add('cached', { name: 'cached' });
      const image = { image: 'sha256:cached', imageBytes: 1, snapshotId: null, config: null };
      const entry = { key: 'k', parent: null, description: 'RUN k', createdAt: 1, ...image };
      await ask().keepCached(entry, { replaces: false });
      // Keep this template in use: its next build waits to begin.
      const next = {
        id: 'next',
        createdAt: 5,
        ...size,
        minFreeDiskMb: 0,
        isolation: null,
        tags: ['default'],
      };
      await ask().addBuild(
        { ...next, project: 'local' },
        { templateId: 't-waiting', name: 'waiting', superseded: '' },
      );
      const unused = (await ask().listUnusedTemplates()).map(({ id }) => id);
      expect(unused.toSorted()).toEqual(['t-cached', 't-served']);
      for (const templateId of unused) expect(await ask().retireTemplate({ templateId })).toBe('retired');
      await ask().retireUnused();
      expect(await ask().listSnapshotIds('removing')).toEqual(['n-served']);
      await ask().forgetSnapshot('n-served');
      expect((await ask().retireImages()).toSorted()).toEqual(['sha256:cached', 'sha256:waiting']);
      expect(await ask().listUnusedTemplates()).toEqual([]);
      expect(await ask().findNamedTemplate({ project: 'local', name: 'served' })).toBeUndefined();
      expect(await logged('served')).toBe(0);
      expect(await logged('waiting')).toBe(1);
    });
  });
};
