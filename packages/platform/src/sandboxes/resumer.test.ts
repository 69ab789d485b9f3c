import { hashToken } from '@skerry/contract/agent-access';
import { RuntimeError } from '@skerry/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';
import { toAccessToken, toTrafficToken } from '../tokens.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const resume = { timeoutMs: 30_000, memory: true };
const failure = () => new RuntimeError('internal', 'it broke');

describe('resume', () => {
  it('starts a new run with the same token and variables, a new nonce, a new start and a new end', async () => {
    const id = await fixture.create();
    const before = await fixture.rowOf(id);
    await fixture.plane.pauser.pause(id, 'filesystem');
    const row = await fixture.plane.resumer.resume(id, resume);
    expect(row).toEqual({
      ...before,
      runId: 'run2',
      startedAt: expect.any(Number),
      endAt: row.startedAt + 30_000,
      timeToLiveMs: 30_000,
    });
    const route = await fixture.route(id);
    expect(route?.runId).toBe('run2');
    const [first, second] = fixture.runtime.inits;
    const edgeNonce = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(second).toEqual({ ...first, edgeNonce, timestamp: expect.any(String) });
    expect(second?.edgeNonce).not.toBe(first?.edgeNonce);
    expect(second).toMatchObject({
      accessTokenSha256: hashToken(toAccessToken('secret', id)),
      envVars: { A: 'b' },
    });
    expect(route?.agent).toEqual({
      accessToken: toAccessToken('secret', id),
      edgeNonce: second?.edgeNonce,
    });
    await expect(fixture.plane.resumer.resume(id, resume)).rejects.toMatchObject({ code: 'conflict' });
    fixture.runtime.crash(id);
    await expect.poll(async () => (await fixture.rowOf(id))?.cause).toBe('exited');
    await expect(fixture.plane.resumer.resume(id, resume)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps the ports private, with the same token, also after a restart of the server', async () => {
    const id = await fixture.create({ ingress: { isPrivate: true } });
    const ports = { trafficToken: toTrafficToken('secret', id) };
    expect((await fixture.route(id))?.ports).toEqual(ports);
    await fixture.plane.pauser.pause(id, 'memory');
    await fixture.plane.resumer.resume(id, resume);
    expect((await fixture.route(id))?.ports).toEqual(ports);
    await fixture.startPlane();
    await expect.poll(async () => (await fixture.route(id))?.ports).toEqual(ports);
    expect(JSON.stringify(fixture.runtime.inits)).not.toContain(ports.trafficToken);
  });

  it('lives for as long as before without a requested time, and at least for the default', async () => {
    const { pauser, resumer, timeToLive } = fixture.plane;
    const id = await fixture.create();
    const lengths: number[] = [];
    const cycle = async (request: Parameters<typeof resumer.resume>[1]): Promise<void> => {
      await pauser.pause(id, 'memory');
      const { startedAt, endAt } = await resumer.resume(id, request);
      lengths.push(endAt - startedAt);
    };
    const least = { ...resume, timeToLive: 'default' } as const;
    await timeToLive.set(id, 3_600_000);
    await cycle(least);
    // Neither an extension nor a move to another node is a new time to live, and 0 is the end of it.
    await timeToLive.extend(id, 7_200_000);
    await cycle({ ...resume, timeToLive: 'remaining' });
    await timeToLive.set(id, 0);
    await cycle(least);
    await cycle({ ...resume, timeoutMs: 5_000 });
    await cycle(least);
    await cycle(least);
    expect(lengths).toEqual([3_600_000, 30_000, 3_600_000, 5_000, 30_000, 30_000]);
  });

  it('is joined by a second request, and the longer time to live wins', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    const [first, second] = await Promise.all([
      fixture.plane.resumer.resume(id, { ...resume, timeoutMs: 1000 }),
      fixture.plane.resumer.resume(id, { ...resume, timeoutMs: 90_000 }),
    ]);
    expect(fixture.runtime.log.filter((line) => line.startsWith('resume'))).toHaveLength(1);
    expect(second.endAt - first.startedAt).toBeGreaterThanOrEqual(90_000);
  });

  it('has a longer timeout than another start when it reads a checkpoint', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    await fixture.startPlane({ startTimeoutMs: 1000 });
    const resumeSlowly = async (memory: boolean) => {
      const release = fixture.runtime.hold('resume');
      const resuming = fixture.plane.resumer.resume(id, { ...resume, memory });
      setTimeout(release, 1300);
      return resuming;
    };
    await expect(resumeSlowly(false)).rejects.toMatchObject({ code: 'timeout' });
    expect((await fixture.rowOf(id))?.state).toBe('paused');
    expect((await resumeSlowly(true)).state).toBe('running');
  });

  it('leaves the sandbox paused each time it fails', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    const before = await fixture.rowOf(id);
    const failures = [
      ['internal', failure()],
      ['unavailable', new RuntimeError('exhausted', 'no slot')],
      ['timeout', new RuntimeError('unavailable', 'too slow')],
    ] as const;
    for (const [code, error] of failures) {
      fixture.runtime.fail('resume', error);
      await expect(fixture.plane.resumer.resume(id, resume)).rejects.toMatchObject({ code });
      expect(await fixture.rowOf(id)).toEqual({ ...before, endAt: expect.any(Number) });
      expect(await fixture.route(id)).toBeUndefined();
    }
    await fixture.plane.resumer.resume(id, resume);
  });

  it('retries once to set up an agent that refused', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    fixture.runtime.fail('init', new Error('not now'));
    await fixture.plane.resumer.resume(id, resume);
    expect((await fixture.route(id))?.runId).toBe('run2');
    expect(fixture.runtime.inits).toHaveLength(3);
  });

  it('is refused at the concurrency limit, and changes nothing then', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    await fixture.startPlane({ maxSandboxes: 2 });
    const others = [await fixture.create(), await fixture.create()];
    await expect(fixture.plane.resumer.resume(id, resume)).rejects.toMatchObject({
      code: 'resource_exhausted',
      message: expect.stringContaining('2'),
      headers: { 'Retry-After': '30' },
    });
    expect((await fixture.rowOf(id))?.state).toBe('paused');
    await fixture.plane.lifecycle.kill(others[0] ?? '');
    await fixture.plane.resumer.resume(id, resume);
  });

  it('passes memory: false to the runtime, and names the field where the runtime cannot do it', async () => {
    const id = await fixture.create();
    await fixture.plane.pauser.pause(id, 'memory');
    fixture.runtime.fail('resume', new RuntimeError('unsupported', 'no'));
    await expect(fixture.plane.resumer.resume(id, { ...resume, memory: false })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('body.memory'),
    });
    await fixture.plane.resumer.resume(id, { ...resume, memory: false });
    expect(fixture.runtime.log.at(-1)).toBe(`resume ${id} memory: false`);
  });
});

describe('connect', () => {
  it('resumes a paused sandbox and leaves a running one as it is', async () => {
    const id = await fixture.create();
    expect(await fixture.plane.resumer.connect(id, resume)).toMatchObject({ wasPaused: false });
    await fixture.plane.pauser.pause(id, 'memory');
    expect(await fixture.plane.resumer.connect(id, resume)).toMatchObject({
      wasPaused: true,
      row: { runId: 'run2' },
    });
    expect(await fixture.plane.resumer.connect(id, resume)).toMatchObject({ wasPaused: false });
    await fixture.plane.lifecycle.kill(id);
    await expect(fixture.plane.resumer.connect(id, resume)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('waits for a pause in progress, and resumes then', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('pause');
    const pausing = fixture.plane.pauser.pause(id, 'memory');
    await expect.poll(async () => (await fixture.rowOf(id))?.state).toBe('pausing');
    // Early clients take a refusal of "resume" to mean that the sandbox runs.
    const connecting = [
      fixture.plane.resumer.connect(id, resume),
      fixture.plane.resumer.resume(id, resume).then((row) => ({ row })),
    ];
    release();
    await pausing;
    const rows = await Promise.all(connecting);
    expect(rows.map(({ row }) => row.runId)).toEqual(['run2', 'run2']);
    expect(fixture.runtime.log.filter((line) => line.startsWith('resume'))).toHaveLength(1);
  });
});
