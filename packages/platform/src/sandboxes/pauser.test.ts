import { ObstacleError, RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const resume = { timeoutMs: 30_000, memory: true };
const failure = () => new RuntimeError('internal', 'it broke');

describe('pause', () => {
  it('removes the sandbox from the directory, ends its run and cancels its expiry', async () => {
    const timeoutMs = 3_000;
    const id = await fixture.create({ timeoutMs });
    const endAt = Date.now() + timeoutMs;
    const ended: string[] = [];
    fixture.plane.directory.onEnd((sandboxId, runId) => ended.push(`${sandboxId} ${runId}`));
    const release = fixture.runtime.hold('pause');
    const pausing = fixture.plane.pauser.pause(id, 'filesystem');
    await expect.poll(() => ended).toEqual([`${id} run1`]);
    expect(await fixture.route(id)).toBeUndefined();
    expect((await fixture.plane.lifecycle.get(id)).state).toBe('pausing');
    const releasedAt = Date.now();
    release();
    await pausing;
    expect(await fixture.rowOf(id)).toMatchObject({ state: 'paused', pausedWith: 'filesystem' });
    const { pausedAt } = (await fixture.rowOf(id)) ?? {};
    expect(pausedAt).toBeGreaterThanOrEqual(releasedAt);
    expect(pausedAt).toBeLessThanOrEqual(Date.now());
    await new Promise((resolve) => setTimeout(resolve, endAt + 700 - Date.now()));
    expect((await fixture.rowOf(id))?.state).toBe('paused');
    expect(fixture.runtime.log).toEqual([`pause ${id} filesystem`]);
  });

  it('is joined by an equal request, and refuses other requests during the pause and after it', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('pause');
    const both = [fixture.plane.pauser.pause(id, 'memory'), fixture.plane.pauser.pause(id, 'memory')];
    await expect(fixture.plane.pauser.pause(id, 'filesystem')).rejects.toMatchObject({ code: 'conflict' });
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('pausing');
    await expect(fixture.plane.timeToLive.set(id, 5000)).rejects.toMatchObject({ code: 'conflict' });
    release();
    await Promise.all(both);
    expect(fixture.runtime.log).toEqual([`pause ${id} memory`]);
    await expect(fixture.plane.pauser.pause(id, 'memory')).rejects.toMatchObject({ code: 'conflict' });
    await expect(fixture.plane.timeToLive.set(id, 5000)).rejects.toMatchObject({ code: 'not_found' });
    await expect(fixture.plane.pauser.pause('inone', 'memory')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('that fails leaves the sandbox running until its former end, and rejects every joined request', async () => {
    const id = await fixture.create();
    const before = await fixture.rowOf(id);
    fixture.runtime.fail('pause', failure());
    const both = [fixture.plane.pauser.pause(id, 'memory'), fixture.plane.pauser.pause(id, 'memory')];
    for (const result of await Promise.allSettled(both)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
    }
    expect(await fixture.rowOf(id)).toEqual(before);
    expect((await fixture.route(id))?.runId).toBe('run1');
    await fixture.plane.pauser.pause(id, 'memory');
  });

  it('reports a full host as 503 with sandbox_capacity_unavailable', async () => {
    const id = await fixture.create();
    fixture.runtime.fail('pause', new RuntimeError('exhausted', 'no space'));
    await expect(fixture.plane.pauser.pause(id, 'memory')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it.each([
    ['409 when a program has to change', 'traced_process', 'conflict', {}],
    ['503 when it ends by itself', 'unrest', 'unavailable', { 'Retry-After': '2' }],
  ] as const)(
    'says what inside prevents it, with %s, to every joined request',
    async (_, kind, code, headers) => {
      const id = await fixture.create();
      const process = { pid: 12, command: 'gdb' };
      fixture.runtime.fail('pause', new ObstacleError({ kind, process }));
      const both = [fixture.plane.pauser.pause(id, 'memory'), fixture.plane.pauser.pause(id, 'memory')];
      for (const result of await Promise.allSettled(both)) {
        const message = expect.stringMatching(/process 12 \(gdb\) .*The sandbox is still running/s);
        const reason = { code, message, headers, reason: 'memory_not_kept', obstacle: { kind, process } };
        expect(result).toMatchObject({ status: 'rejected', reason });
      }
      expect((await fixture.rowOf(id))?.state).toBe('running');
    },
  );

  it('succeeds when only the response of the runtime was lost', async () => {
    const id = await fixture.create();
    fixture.runtime.loseAnswer('pause');
    await fixture.plane.pauser.pause(id, 'memory');
    expect((await fixture.rowOf(id))?.state).toBe('paused');
  });

  it('never keeps less than was requested', async () => {
    fixture.useRuntime({ memory: false, filesystem: true });
    await fixture.startPlane();
    const id = await fixture.create();
    await expect(fixture.plane.pauser.pause(id, 'memory')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('body.memory'),
    });
    expect((await fixture.rowOf(id))?.state).toBe('running');
    expect(fixture.runtime.log).toEqual([]);
    fixture.useRuntime({ memory: false, filesystem: false });
    await fixture.startPlane();
    const other = await fixture.create();
    await expect(fixture.plane.pauser.pause(other, 'filesystem')).rejects.toMatchObject({
      code: 'unimplemented',
    });
  });

  it('yields to a kill, which waits for it and removes everything', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('pause');
    const pausing = fixture.plane.pauser.pause(id, 'memory').catch((error: unknown) => error);
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('pausing');
    const killing = fixture.plane.lifecycle.kill(id);
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('killing');
    await expect(fixture.plane.lifecycle.get(id)).rejects.toMatchObject({ code: 'not_found' });
    expect(fixture.runtime.log).not.toContain(`stop ${id}`);
    release();
    await Promise.all([pausing, killing]);
    expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'killed' });
    expect(fixture.runtime.instances.size).toBe(0);
  });
});

describe('the end of a time to live', () => {
  it('pauses a sandbox with autoPause, and pauses it again after a resume', async () => {
    const id = await fixture.create({ timeoutMs: 100, autoPause: 'filesystem' });
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    await fixture.plane.resumer.resume(id, { ...resume, timeoutMs: 100 });
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('paused');
    expect(fixture.runtime.log.filter((line) => line.startsWith('pause'))).toEqual(
      Array.from({ length: 2 }, () => `pause ${id} filesystem`),
    );
    await fixture.plane.lifecycle.kill(id);
    expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'killed' });
  });

  it('does not kill a sandbox that cannot be paused, and waits between attempts', async () => {
    fixture.runtime.fail('pause', failure());
    const id = await fixture.create({ timeoutMs: 100, autoPause: 'memory' });
    await expect.poll(() => fixture.runtime.log).toEqual([`pause ${id} memory`]);
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(fixture.runtime.log).toHaveLength(1);
    expect((await fixture.rowOf(id))?.state).toBe('running');
    expect((await fixture.route(id))?.runId).toBe('run1');
  });

  describe('of a sandbox whose memory cannot be checkpointed', () => {
    const reachEnd = async (): Promise<string> => {
      fixture.runtime.fail('pause', failure());
      const id = await fixture.create({ timeoutMs: 100, autoPause: 'memory' });
      await expect.poll(() => fixture.runtime.log).toEqual([`pause ${id} memory`]);
      await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('running');
      for (let attempt = 2; attempt <= 3; attempt++) {
        fixture.runtime.fail('pause', failure());
        await fixture.plane.pauser.pauseAtEnd(id, 'memory');
        expect((await fixture.rowOf(id))?.state).toBe('running');
      }
      expect(fixture.runtime.log).toEqual(Array.from({ length: 3 }, () => `pause ${id} memory`));
      return id;
    };

    it('keeps only its files after three attempts, and tries a checkpoint again at its next end', async () => {
      const id = await reachEnd();
      await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      expect(fixture.runtime.log.at(-1)).toBe(`pause ${id} filesystem`);
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'paused', pausedWith: 'filesystem' });
      await fixture.plane.resumer.resume(id, { ...resume, timeoutMs: 100 });
      await expect.poll(async () => (await fixture.rowOf(id))?.pausedWith).toBe('memory');
    });

    it('ends it when its files cannot be kept either', async () => {
      const id = await reachEnd();
      fixture.runtime.fail('pause', failure());
      await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      expect(fixture.runtime.log.slice(-2)).toEqual([`pause ${id} filesystem`, `stop ${id}`]);
      expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'expired' });
      expect(await fixture.route(id)).toBeUndefined();
    });

    it('never ends it because the host is full', async () => {
      const id = await reachEnd();
      for (let attempt = 0; attempt < 5; attempt++) {
        fixture.runtime.fail('pause', new RuntimeError('exhausted', 'the host is full'));
        await fixture.plane.pauser.pauseAtEnd(id, 'memory');
        expect((await fixture.rowOf(id))?.state).toBe('running');
      }
      await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      expect((await fixture.rowOf(id))?.state).toBe('paused');
    });

    it('keeps only its files when the host stays full', async () => {
      const full = new RuntimeError('exhausted', 'the host is full');
      fixture.runtime.fail('pause', full);
      const id = await fixture.create({ timeoutMs: 100, autoPause: 'memory' });
      await expect.poll(() => fixture.runtime.log).toHaveLength(1);
      await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('running');
      for (let attempt = 2; attempt <= 30; attempt++) {
        fixture.runtime.fail('pause', full);
        await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      }
      expect(new Set(fixture.runtime.log)).toEqual(new Set([`pause ${id} memory`]));
      await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      expect(fixture.runtime.log.at(-1)).toBe(`pause ${id} filesystem`);
    });

    it('resets the count when its end was moved', async () => {
      const id = await reachEnd();
      await fixture.plane.timeToLive.set(id, 60_000);
      await fixture.plane.pauser.pauseAtEnd(id, 'memory');
      expect((await fixture.rowOf(id))?.state).toBe('running');
      await fixture.plane.timeToLive.set(id, 100);
      await expect.poll(async () => (await fixture.rowOf(id))?.pausedWith).toBe('memory');
    });
  });

  it('that passed while no server ran is acted on at the next start', async () => {
    const kept = await fixture.create({ timeoutMs: 100, autoPause: 'memory' });
    const killed = await fixture.create({ timeoutMs: 100 });
    await fixture.plane.close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    await fixture.startPlane();
    await expect.poll(async () => (await fixture.rowOf(kept))?.state).toBe('paused');
    await expect.poll(async () => (await fixture.rowOf(killed))?.cause).toBe('expired');
  });
});
