import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createExpiry } from '../expiry.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { createLive } from './running-handles.ts';
import { createTerminator } from './terminator.ts';
import { createTransitions } from './transitions.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

it('a kill that a lost runtime interrupted continues on the next runtime before it is answered', async () => {
  const id = await fixture.create();
  fixture.runtime.fail('stop', new RuntimeError('unavailable', 'the connection to the runtime ended'));
  await fixture.plane.lifecycle.kill(id);
  expect(fixture.runtime.log).toEqual([`stop ${id}`, `stop ${id}`]);
  expect(fixture.runtime.instances.has(id)).toBe(false);
  expect(await fixture.rowOf(id)).toMatchObject({ state: 'ended', cause: 'killed' });
});

it('a kill that the runtime cannot carry out is retried in the next round', async () => {
  const id = await fixture.create();
  fixture.runtime.fail('stop', new RuntimeError('internal', 'it does not end'));
  await fixture.plane.lifecycle.kill(id);
  expect(fixture.runtime.log).toEqual([`stop ${id}`]);
  expect((await fixture.rowOf(id))?.state).toBe('killing');
});

describe('the end of a sandbox', () => {
  /** The parts that an ending acts on, around the rows and instances of the fixture. */
  const open = async ({
    fetched = async () => {},
    onEnded,
  }: {
    fetched?: () => Promise<void>;
    onEnded?: () => void;
  } = {}) => {
    const id = await fixture.create();
    await fixture.plane.close();
    const { clock, advance, timers } = createManualClock();
    const { log, lines } = createRecordingLog();
    const live = createLive();
    const transitions = createTransitions();
    const expiry = createExpiry({ clock, onDue: () => undefined });
    const { store, runtime } = fixture;
    const terminator = createTerminator({
      ...{ store, hosts: createOneMachine({ runtime }), live, transitions, expiry, clock, log },
      observation: { fetched },
      onEnded,
    });
    live.add(await runtime.get(id), { agent: { edgeNonce: 'n' }, ports: {} }, () => undefined);
    expiry.schedule(id, clock.now() + 60_000);
    return { id, live, transitions, terminator, advance, timers, lines };
  };
  const whenRunning = { from: ['running'] } as const;
  const stops = (): string[] => fixture.runtime.log.filter((act) => act.startsWith('stop'));
  const isSettled = (promise: Promise<unknown>): Promise<boolean> =>
    Promise.race([
      promise.then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, 50, false)),
    ]);

  it('begins on disk, with the sandbox unreachable and its expiry cancelled', async () => {
    const { id, live, terminator, timers } = await open();
    const row = await terminator.begin(id, 'killed', whenRunning);
    expect(row).toMatchObject({ id, state: 'killing', cause: 'killed' });
    expect([live.has(id), timers.size, stops()]).toEqual([false, 0, []]);
  });

  it('does not begin for a row in another state, which stays as it is', async () => {
    const { id, live, terminator, timers } = await open();
    expect(await terminator.begin(id, 'killed', { from: ['paused'] })).toBeUndefined();
    expect(await fixture.rowOf(id)).toMatchObject({ state: 'running', cause: null });
    expect([live.has(id), timers.size]).toEqual([true, 1]);
  });

  it('is recorded with its time, and logged with its cause and the time that the sandbox ran', async () => {
    const { id, terminator, advance, lines } = await open();
    const { startedAt = 0 } = (await terminator.begin(id, 'expired', whenRunning)) ?? {};
    advance(5_000);
    await terminator.finish({ id, node: null });
    const row = await fixture.rowOf(id);
    expect(row).toMatchObject({ state: 'ended', cause: 'expired' });
    expect(lines.map(({ level, fields }) => ({ level, fields }))).toEqual([
      {
        level: 'info',
        fields: { sandboxId: id, cause: 'expired', ranMs: (row?.endedAt ?? 0) - startedAt },
      },
    ]);
    expect(stops()).toEqual([`stop ${id}`]);
  });

  it('is finished once, however often that is asked, and all wait for it', async () => {
    const gate = Promise.withResolvers<void>();
    const { id, terminator } = await open({ fetched: () => gate.promise });
    await terminator.settled();
    expect(terminator.current(id)).toBeUndefined();
    await terminator.begin(id, 'killed', whenRunning);
    const finished = terminator.finish({ id, node: null });
    expect([terminator.finish({ id, node: null }) === finished, terminator.current(id) === finished]).toEqual(
      [true, true],
    );
    const settled = terminator.settled();
    expect(await isSettled(Promise.race([finished, settled]))).toBe(false);
    gate.resolve();
    await Promise.all([finished, settled]);
    expect([stops(), terminator.current(id)]).toEqual([[`stop ${id}`], undefined]);
  });

  it('is under way from its request until it is over, and is then reported', async () => {
    const gate = Promise.withResolvers<void>();
    const reported: string[][] = [];
    const { id, terminator } = await open({
      fetched: () => gate.promise,
      onEnded: () => reported.push(terminator.underWay()),
    });
    await terminator.begin(id, 'killed', whenRunning);
    expect(terminator.underWay()).toEqual([]);
    const finished = terminator.finish({ id, node: null });
    expect([terminator.underWay(), reported]).toEqual([[id], []]);
    gate.resolve();
    await finished;
    expect([terminator.underWay(), reported]).toEqual([[], [[]]]);
  });

  it('of a node that is forgotten closes the row with its time, and stops nothing', async () => {
    const { id, terminator, advance } = await open();
    await terminator.begin(id, 'lost', whenRunning);
    advance(5_000);
    await terminator.abandon(id);
    const row = await fixture.rowOf(id);
    expect(row).toMatchObject({ state: 'ended', cause: 'lost', endedAt: expect.any(Number) });
    expect(stops()).toEqual([]);
    // Nothing is kept of it: the runtime would be asked.
    fixture.runtime.fail('get', new RuntimeError('internal', 'it cannot be asked'));
    await terminator.finish({ id, node: null });
    expect(stops()).toEqual([]);
  });

  it('is not written by forgetting a node when it has not begun', async () => {
    const { id, terminator } = await open();
    await terminator.abandon(id);
    expect((await fixture.rowOf(id))?.state).toBe('running');
  });

  it('does not ask the runtime for a sandbox that the directory had, unless a first attempt has failed', async () => {
    const { id, terminator, lines } = await open();
    const unknown = new RuntimeError('internal', 'it cannot be asked');
    await terminator.begin(id, 'killed', whenRunning);
    fixture.runtime.fail('get', unknown);
    fixture.runtime.fail('stop', new RuntimeError('internal', 'it does not end'));
    await terminator.finish({ id, node: null });
    expect(stops()).toEqual([`stop ${id}`]);
    await terminator.finish({ id, node: null });
    expect(stops()).toEqual([`stop ${id}`]);
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { sandboxId: id, error: unknown } });
    await terminator.finish({ id, node: null });
    expect((await fixture.rowOf(id))?.state).toBe('ended');
  });

  it('asks the runtime for a sandbox that the directory did not have', async () => {
    const { id, live, terminator } = await open();
    live.remove(id);
    await terminator.begin(id, 'killed', whenRunning);
    await terminator.finish({ id, node: null });
    expect(stops()).toEqual([`stop ${id}`]);
  });

  it('leaves the row when another process has closed it, and says nothing', async () => {
    const { id, terminator, lines } = await open();
    await terminator.begin(id, 'killed', whenRunning);
    await fixture.store.changeState(id, { from: ['killing'], to: 'ended', set: { endedAt: 7 } });
    await terminator.finish({ id, node: null });
    expect([(await fixture.rowOf(id))?.endedAt, lines]).toEqual([7, []]);
  });

  it('logs a failure once and leaves the row to the next round', async () => {
    const { id, terminator, lines } = await open();
    await terminator.begin(id, 'killed', whenRunning);
    const error = new RuntimeError('internal', 'it does not end');
    fixture.runtime.fail('stop', error);
    await terminator.finish({ id, node: null });
    expect((await fixture.rowOf(id))?.state).toBe('killing');
    expect(lines).toMatchObject([{ level: 'error', fields: { sandboxId: id, error } }]);
  });

  it('interrupts a transition and waits until it is over', async () => {
    const { id, transitions, terminator } = await open();
    const work = Promise.withResolvers<void>();
    const acts: string[] = [];
    const interrupt = (): void => void acts.push('interrupted');
    void transitions.run(id, 'pause-memory', () => work.promise, { interrupt });
    await terminator.begin(id, 'killed', whenRunning);
    const finished = terminator.finish({ id, node: null });
    expect(await isSettled(finished)).toBe(false);
    expect([acts, stops()]).toEqual([['interrupted'], []]);
    work.resolve();
    await finished;
    expect(stops()).toEqual([`stop ${id}`]);
  });

  it('does not wait for a snapshot, whose capture the runtime itself waits for', async () => {
    const { id, transitions, terminator } = await open();
    const work = Promise.withResolvers<void>();
    void transitions.run(id, 'snapshot', () => work.promise);
    await terminator.begin(id, 'killed', whenRunning);
    await terminator.finish({ id, node: null });
    expect((await fixture.rowOf(id))?.state).toBe('ended');
    work.resolve();
  });
});
