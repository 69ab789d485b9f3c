import { ApiError } from '@skerry/contract/error';
import { RuntimeError } from '@skerry/runtime';
import { CLOSED_NETWORK } from '@skerry/runtime/network';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createForkHandlers } from '../handlers/fork.ts';
import type { PauseKind } from '../store/rows.ts';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { toAccessToken, toTrafficToken } from '../tokens.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const fork = (id: string, count = 1, kind: PauseKind = 'memory') =>
  fixture.plane.forker.fork(id, { count, kind, timeoutMs: 60_000, keyId: null });
const context = { keyId: null };
const createHandlers = (maxSandboxes = 100) =>
  createForkHandlers({
    forker: fixture.plane.forker,
    ...{ maxRunMs: 3_600_000, maxSandboxes, secret: 'secret', domain: null },
  });
const codeOf = async (refused: Promise<unknown>): Promise<string> => {
  const error = await refused.catch((reason: unknown) => reason);
  return error instanceof ApiError ? error.code : String(error);
};
/** The driver's state after a capture that is no longer needed: empty. */
const expectNoSnapshot = async (): Promise<void> => {
  for (const state of ['making', 'ready', 'removing'] as const)
    expect(await fixture.store.listSnapshotIds(state)).toEqual([]);
  expect([...fixture.runtime.snapshotIds]).toEqual([]);
};

describe('forking a sandbox', () => {
  it('captures once, and sends each copy its own identity and the settings of the source', async () => {
    const id = await fixture.create({
      ...{ autoPause: 'memory', network: CLOSED_NETWORK, ingress: { isPrivate: true } },
    });
    const source = await fixture.rowOf(id);
    const outcomes = await fork(id, 3);
    expect(fixture.runtime.log.filter((line) => line.startsWith('snapshot '))).toEqual([
      `snapshot ${id} memory`,
    ]);
    const rows = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
    expect(new Set(rows.map((row) => row?.id)).size).toBe(3);
    for (const row of rows) {
      expect(row).toMatchObject({
        state: 'running',
        templateId: 't1',
        autoPause: 'memory',
        envVars: { A: 'b' },
      });
      expect(row?.network).toEqual(CLOSED_NETWORK);
      expect((row?.endAt ?? 0) - (row?.startedAt ?? 0)).toBe(60_000);
      expect(await fixture.route(row?.id ?? '')).toMatchObject({
        runId: row?.runId,
        ports: { trafficToken: toTrafficToken('secret', row?.id ?? '') },
      });
    }
    const inits = fixture.runtime.inits.slice(1);
    for (const name of ['accessTokenSha256', 'edgeNonce'])
      expect(new Set(fixture.runtime.inits.map((init) => init[name])).size).toBe(4);
    expect(JSON.stringify(inits)).not.toContain(toAccessToken('secret', rows[0]?.id ?? ''));
    expect(await fixture.rowOf(id)).toEqual(source);
    await expectNoSnapshot();
  });

  it('starts copies up to the concurrency limit, and reports for each other copy why it failed', async () => {
    await fixture.startPlane({ maxSandboxes: 3 });
    const id = await fixture.create();
    const outcomes = await fork(id, 3);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'resource_exhausted' });
    const handlers = createHandlers(3);
    const ask = async (count: number) =>
      handlers['POST /sandboxes/{sandboxID}/fork']({
        params: { sandboxID: id },
        body: { count },
        context,
      } as never);
    expect(await codeOf(ask(4))).toBe('invalid_argument');
    expect(await ask(1)).toMatchObject({
      status: 201,
      body: [{ error: { code: 429, message: expect.stringContaining('3 sandboxes') } }],
    });
    await expectNoSnapshot();
  });

  it('removes everything of a copy that does not start', async () => {
    const id = await fixture.create();
    fixture.runtime.fail('create', new RuntimeError('exhausted', 'full'));
    const [first, second] = await fork(id, 2);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    expect(second?.status).toBe('fulfilled');
    await expect.poll(() => fixture.runtime.instances.size).toBe(2);
    await expectNoSnapshot();
  });

  it('changes nothing when the capture fails, or when there is no running sandbox', async () => {
    const id = await fixture.create();
    fixture.runtime.fail('snapshot', new RuntimeError('exhausted', 'full'));
    expect(await codeOf(fork(id))).toBe('unavailable');
    expect((await fixture.rowOf(id))?.state).toBe('running');
    await expectNoSnapshot();
    await fixture.plane.pauser.pause(id, 'memory');
    expect(await codeOf(fork(id))).toBe('conflict');
    await fixture.plane.lifecycle.kill(id);
    expect(await codeOf(fork(id))).toBe('not_found');
    expect(await codeOf(fork('i1'))).toBe('not_found');
  });

  it('does not wait for an operation in progress: of a pause and a fork at once, one succeeds and the other is refused', async () => {
    const id = await fixture.create();
    const letGo = fixture.runtime.hold('snapshot');
    const forked = fork(id);
    await expect.poll(() => fixture.runtime.log.at(-1)).toBe(`snapshot ${id} memory`);
    expect(await codeOf(fixture.plane.pauser.pause(id, 'memory'))).toBe('conflict');
    expect(await codeOf(fork(id))).toBe('conflict');
    letGo();
    expect((await forked)[0]?.status).toBe('fulfilled');
    await fixture.plane.pauser.pause(id, 'memory');
  });

  it('captures the files alone with "memory": false, and the memory by default', async () => {
    const id = await fixture.create();
    const handle = createHandlers()['POST /v2/sandboxes/{sandboxID}/fork'];
    const captured = async (body?: { memory: boolean }) => {
      const { status } = await handle({ params: { sandboxID: id }, body, context } as never);
      return [status, fixture.runtime.log.findLast((line) => line.startsWith('snapshot '))];
    };
    expect(await captured({ memory: false })).toEqual([201, `snapshot ${id} filesystem`]);
    expect(await captured({ memory: true })).toEqual([201, `snapshot ${id} memory`]);
    expect(await captured()).toEqual([201, `snapshot ${id} memory`]);
    await expectNoSnapshot();
  });

  it.each([
    ['POST /sandboxes/{sandboxID}/fork', 15_000],
    ['POST /v2/sandboxes/{sandboxID}/fork', 300_000],
  ] as const)('lets a copy of %s live for %i ms by default', async (key, lifeMs) => {
    const id = await fixture.create();
    const { body } = await createHandlers()[key]({ params: { sandboxID: id }, context } as never);
    const copy = Array.isArray(body) ? body[0] : undefined;
    const row = await fixture.rowOf(copy !== undefined && 'sandbox' in copy ? copy.sandbox.sandboxID : '');
    expect((row?.endAt ?? 0) - (row?.startedAt ?? 0)).toBe(lifeMs);
  });

  it('answers 501 for what cannot be captured, and says that the files can', async () => {
    fixture.useRuntime({ memory: false, filesystem: true });
    await fixture.startPlane();
    const id = await fixture.create();
    await expect(fork(id)).rejects.toMatchObject({
      code: 'unimplemented',
      message: expect.stringContaining('"memory": false'),
    });
    expect(await fork(id, 1, 'filesystem')).toMatchObject([{ status: 'fulfilled' }]);
    fixture.useRuntime({ memory: false, filesystem: false });
    await fixture.startPlane();
    expect(await codeOf(fork(await fixture.create(), 1, 'filesystem'))).toBe('unimplemented');
  });
});
