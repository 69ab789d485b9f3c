import { ApiError } from '@skerry/contract/error';
import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeApiKey, toApiKeyRow } from '../api-key.ts';
import { createNewWork } from '../new-work.ts';
import type { SandboxRow } from '../store/rows.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { toAccessToken } from '../tokens.ts';
import type { Resumer } from './resumer.ts';
import { createWaker } from './waker.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const broken = () => new RuntimeError('internal', 'it broke');
const signal = new AbortController().signal;
const dormant = (id: string) => fixture.plane.directory.findDormant(id);
const resumes = () => fixture.runtime.log.filter((line) => line.startsWith('resume')).length;
const lifeOf = async (id: string): Promise<number> => {
  const row = await fixture.rowOf(id);
  return row === undefined ? 0 : row.endAt - row.startedAt;
};
const paused = async (options: Parameters<PlaneFixture['create']>[0] = {}, kind = 'memory' as const) => {
  const id = await fixture.create({ autoResume: true, ...options });
  await fixture.plane.pauser.pause(id, kind);
  return id;
};

describe('what traffic resumes', () => {
  it('is a sandbox that was paused with its memory and whose creator wants that, with its token', async () => {
    const id = await paused();
    expect(await fixture.route(id)).toBeUndefined();
    expect(await dormant(id)).toMatchObject({ accessToken: toAccessToken('secret', id) });
    await (await dormant(id))?.wake(signal);
    expect(await fixture.route(id)).toMatchObject({ runId: 'run2' });
  });

  it('is nothing else', async () => {
    const files = await fixture.create({ autoResume: true });
    await fixture.plane.pauser.pause(files, 'filesystem');
    const unwanted = await paused({ autoResume: false });
    const ended = await paused();
    await fixture.plane.lifecycle.kill(ended);
    for (const id of [files, unwanted, ended, 'iunknown']) {
      expect(await dormant(id)).toBeUndefined();
      await expect(fixture.plane.waker.wake(id)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(resumes()).toBe(0);
  });

  it('lives for the time that was chosen at its creation, and at least five minutes, whatever was set since', async () => {
    const lives: number[] = [];
    for (const timeoutMs of [15_000, 3_600_000]) {
      const id = await fixture.create({ timeoutMs, autoResume: true });
      await fixture.plane.timeToLive.set(id, 7_200_000);
      await fixture.plane.pauser.pause(id, 'memory');
      await fixture.plane.waker.wake(id);
      lives.push(await lifeOf(id));
    }
    expect(lives).toEqual([300_000, 3_600_000]);
    await fixture.startPlane({ maxRunMs: 60_000 });
    const id = await paused();
    await fixture.plane.waker.wake(id);
    expect(await lifeOf(id)).toBe(60_000);
  });

  it('is a copy of such a sandbox as well', async () => {
    const id = await fixture.create({ autoResume: true });
    const [copy] = await fixture.plane.forker.fork(id, {
      ...{ kind: 'memory', count: 1, timeoutMs: 400_000, keyId: null },
    });
    expect(copy).toMatchObject({ status: 'fulfilled', value: { wakeMs: 400_000 } });
  });
});

describe('a wake', () => {
  it('is one resume for a thousand callers', async () => {
    const id = await paused();
    const release = fixture.runtime.hold('resume');
    const all = Array.from({ length: 1000 }, async () => (await dormant(id))?.wake(signal));
    setTimeout(release, 50);
    await Promise.all(all);
    expect(resumes()).toBe(1);
  });

  it('joins a resume that a caller of the API has begun, and does not change its time', async () => {
    const id = await paused();
    const release = fixture.runtime.hold('resume');
    const resumed = fixture.plane.resumer.resume(id, { timeoutMs: 20_000, memory: true });
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('resuming');
    const woken = (await dormant(id))?.wake(signal);
    release();
    await Promise.all([resumed, woken]);
    expect(await lifeOf(id)).toBe(20_000);
    await fixture.plane.waker.wake(id);
    expect(await lifeOf(id)).toBe(20_000);
    expect(resumes()).toBe(1);
  });

  it('waits for a pause that is not over', async () => {
    const id = await fixture.create({ autoResume: true });
    const release = fixture.runtime.hold('pause');
    const pause = fixture.plane.pauser.pause(id, 'memory');
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('pausing');
    const woken = (await dormant(id))?.wake(signal);
    release();
    await Promise.all([pause, woken]);
    expect((await fixture.rowOf(id))?.state).toBe('running');
  });

  it('goes on when one of its callers leaves', async () => {
    const id = await paused();
    const release = fixture.runtime.hold('resume');
    const leaving = new AbortController();
    const left = (await dormant(id))?.wake(leaving.signal);
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    release();
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('running');
  });

  it('is refused at the concurrency limit', async () => {
    const id = await paused();
    await fixture.startPlane({ maxSandboxes: 1 });
    await fixture.create();
    await expect(fixture.plane.waker.wake(id)).rejects.toMatchObject({
      code: 'resource_exhausted',
      headers: { 'Retry-After': '1' },
    });
  });

  it('is refused at a limit of its key, of which visitors learn nothing', async () => {
    const key = toApiKeyRow(makeApiKey(), {
      ...{ name: 'secret plan', project: 'shop', readOnly: false, limits: { sandboxes: 1 }, createdAt: 0 },
    });
    await fixture.store.addApiKey(key);
    const id = await paused({ keyId: key.id });
    await fixture.create({ keyId: key.id });
    const refused = await fixture.plane.waker.wake(id).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'resource_exhausted' });
    expect((refused as Error).message).not.toMatch(/secret plan|shop|limited/);
  });
});

describe('a wake that another server has sent here', () => {
  const noPlace = () => new ApiError('unavailable', 'no node here can take it');
  const waiting = async () => {
    const { log, lines } = createRecordingLog();
    const calls: { isForwarded: boolean | undefined; end: PromiseWithResolvers<void> }[] = [];
    const connect: Resumer['connect'] = async (id, { isForwarded }) => {
      const end = Promise.withResolvers<void>();
      calls.push({ isForwarded, end });
      await end.promise;
      return { row: (await fixture.rowOf(id)) as SandboxRow, wasPaused: true };
    };
    const { store } = fixture;
    const waking = createWaker({
      ...{
        store,
        newWork: createNewWork(),
        resumer: { connect },
        secret: 'secret',
        ...createManualClock(),
        log,
      },
    });
    return { id: await paused(), waking, calls, lines };
  };

  it('is joined by requests to this server', async () => {
    const { id, waking, calls } = await waiting();
    const all = [waking.wake(id, { isForwarded: true }), waking.wake(id), waking.wake(id)];
    calls[0]?.end.resolve();
    await Promise.all(all);
    expect(calls).toHaveLength(1);
  });

  it('and finds no place on its nodes is no failure for requests to this server, which try elsewhere too', async () => {
    const { id, waking, calls, lines } = await waiting();
    const sent = waking.wake(id, { isForwarded: true });
    const own = [waking.wake(id), waking.wake(id)];
    calls[0]?.end.reject(noPlace());
    await expect(sent).rejects.toMatchObject({ code: 'unavailable' });
    await expect.poll(() => calls.map(({ isForwarded }) => isForwarded)).toEqual([true, false]);
    calls[1]?.end.resolve();
    await Promise.all(own);
    expect([waking.problemOf((await fixture.rowOf(id)) as SandboxRow), lines]).toEqual([undefined, []]);
  });

  it('and cannot start makes all wait for the next attempt', async () => {
    const { id, waking, calls } = await waiting();
    const all = [waking.wake(id, { isForwarded: true }), waking.wake(id)];
    calls[0]?.end.reject(new Error('it broke'));
    for (const one of all) await expect(one).rejects.toMatchObject({ headers: { 'Retry-After': '1' } });
    await expect(waking.wake(id)).rejects.toMatchObject({ code: 'internal' });
    expect(calls).toHaveLength(1);
  });
});

describe('a sandbox that cannot start', () => {
  const failing = async () => {
    const id = await paused();
    const manual = createManualClock();
    const { log } = createRecordingLog();
    const { store, plane } = fixture;
    const waker = createWaker({
      store,
      newWork: createNewWork(),
      resumer: plane.resumer,
      secret: 'secret',
      ...manual,
      log,
    });
    return { id, waker, ...manual };
  };

  it('is tried again after pauses that grow, and not between them', async () => {
    const { id, waker, advance } = await failing();
    const waits: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      fixture.runtime.fail('resume', broken());
      const [first, second] = await Promise.all(
        [waker.wake(id), waker.wake(id)].map((woken) => woken.catch((error: unknown) => error)),
      );
      expect(first).toBe(second);
      expect(first).toMatchObject({ code: 'internal', message: expect.stringContaining('at the earliest') });
      const seconds = Number((first as { headers: Record<string, string> }).headers['Retry-After']);
      waits.push(seconds);
      const before = resumes();
      for (let flood = 0; flood < 100; flood += 1)
        await expect(waker.wake(id)).rejects.toMatchObject({ code: 'internal' });
      advance(seconds * 1_000 - 1);
      await expect(waker.wake(id)).rejects.toMatchObject({ headers: { 'Retry-After': '1' } });
      expect(resumes()).toBe(before);
      advance(1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('has the reason on record until it starts', async () => {
    const { id, waker, advance } = await failing();
    fixture.runtime.fail('resume', broken());
    await expect(waker.wake(id)).rejects.toThrow();
    expect(waker.problemOf((await fixture.rowOf(id)) as SandboxRow)).toMatch(
      /^traffic could not resume it \(1 attempt\): .*resume the sandbox/,
    );
    advance(1_000);
    await waker.wake(id);
    expect(waker.problemOf((await fixture.rowOf(id)) as SandboxRow)).toBeUndefined();
    await fixture.plane.pauser.pause(id, 'memory');
    fixture.runtime.fail('resume', broken());
    await expect(waker.wake(id)).rejects.toMatchObject({ headers: { 'Retry-After': '1' } });
    advance(601_001);
    expect(waker.problemOf((await fixture.rowOf(id)) as SandboxRow)).toBeUndefined();
  });

  it('has none on record any more, and no pause, after a call of the API has resumed it', async () => {
    const { id, waker } = await failing();
    fixture.runtime.fail('resume', broken());
    await expect(waker.wake(id)).rejects.toThrow();
    await fixture.plane.resumer.resume(id, { timeoutMs: 60_000, memory: true });
    expect(waker.problemOf((await fixture.rowOf(id)) as SandboxRow)).toBeUndefined();
    await fixture.plane.pauser.pause(id, 'memory');
    await (await waker.find(id))?.wake(signal);
    expect((await fixture.rowOf(id))?.state).toBe('running');
  });
});
