import { setTimeout as delay } from 'node:timers/promises';
import { findTraces } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import type { CreateOptions } from '../stack/stack-client.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const toParams = (sandboxID: string) => ({ params: { path: { sandboxID } } });
const get = async (id: string) => (await stack.api.GET('/sandboxes/{sandboxID}', toParams(id))).data;
const pause = (id: string, body: { memory?: boolean } = { memory: false }) =>
  stack.api.POST('/sandboxes/{sandboxID}/pause', { ...toParams(id), body });
const connect = (id: string) => stack.api.POST('/v2/sandboxes/{sandboxID}/connect', toParams(id));
const resume = (id: string, body?: { timeout?: number; autoPause?: boolean }) =>
  stack.api.POST('/sandboxes/{sandboxID}/resume', { ...toParams(id), ...(body && { body }) });
const kill = (id: string) => stack.api.DELETE('/sandboxes/{sandboxID}', toParams(id));
const listed = async (state: ('running' | 'paused')[]) => {
  const { data, response } = await stack.api.GET('/v2/sandboxes', { params: { query: { state } } });
  return {
    ids: (data ?? []).map(({ sandboxID }) => sandboxID),
    totalRunning: response.headers.get('x-total-running'),
  };
};
const healthOf = async (id: string): Promise<number> =>
  (await fetchByHost(`http://49983-${id}.${stack.address.domain}/health`)).status;
const create = async (options: CreateOptions = {}): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox(options)).sandboxId, stack.connection);
const remaining = async (id: string) => Date.parse((await get(id))?.endAt ?? '') - Date.now();

describe('a sandbox that is paused without its memory', () => {
  it('keeps files, id, token, metadata and variables, and boots afresh', async () => {
    const before = await create({ envVars: { GREETING: 'hallo' }, metadata: { keep: 'yes' } });
    const id = before.sandboxId;
    await before.files.write('/home/user/kept.txt', 'kept');
    await before.commands.run('echo changed >> /etc/hostname; ln -s kept.txt link; mkdir -m 700 dir', {
      user: 'root',
      cwd: '/home/user',
    });
    await before.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    const bootId = await before.files.read('/proc/sys/kernel/random/boot_id');
    const detail = await get(id);

    const askedAt = Date.now();
    expect((await pause(id)).response.status).toBe(204);
    const answeredAt = Date.now();
    const paused = await get(id);
    expect(paused).toEqual({ ...detail, state: 'paused', endAt: expect.any(String) });
    expect(Date.parse(paused?.endAt ?? '')).toBeGreaterThanOrEqual(askedAt);
    expect(Date.parse(paused?.endAt ?? '')).toBeLessThanOrEqual(answeredAt);

    const { data, response } = await connect(id);
    expect(response.status).toBe(201);
    expect(data).toMatchObject({ sandboxID: id, envdAccessToken: detail?.envdAccessToken });
    const resumed = await get(id);
    expect(resumed).toEqual({
      ...detail,
      startedAt: expect.any(String),
      endAt: expect.any(String),
    });
    expect(Date.parse(resumed?.startedAt ?? '')).toBeGreaterThan(Date.parse(detail?.startedAt ?? ''));

    // The handle of before still works: id and token are the same.
    expect(await before.files.read('/home/user/link')).toBe('kept');
    expect(await before.files.read('/etc/hostname')).toContain('changed');
    const { stdout } = await before.commands.run(
      'echo $GREETING $E2B_SANDBOX_ID; whoami; stat -c %a /home/user/dir; pgrep -x sleep | wc -l',
    );
    expect(stdout).toBe(`hallo ${id}\nuser\n700\n0\n`);
    const nextBootId = await before.files.read('/proc/sys/kernel/random/boot_id');
    expect(nextBootId).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(nextBootId).not.toBe(bootId);
    expect((await connect(id)).response.status).toBe(200);
    await kill(id);
  });

  it('is shown as paused, takes no place among the running, and cannot be given more time', async () => {
    const { sandboxId: id } = await create();
    const { sandboxId: other } = await create();
    await pause(id);
    expect(await listed(['paused'])).toEqual({ ids: [id], totalRunning: null });
    expect(await listed(['running'])).toEqual({ ids: [other], totalRunning: '1' });
    expect(new Set((await listed(['running', 'paused'])).ids)).toEqual(new Set([id, other]));
    expect((await stack.api.GET('/sandboxes')).data?.map(({ sandboxID }) => sandboxID)).toEqual([other]);
    for (const path of ['timeout', 'refreshes'] as const) {
      const { response } = await stack.api.POST(`/sandboxes/{sandboxID}/${path}`, {
        ...toParams(id),
        body: { timeout: 10, duration: 10 },
      });
      expect(response.status).toBe(404);
    }
    expect((await pause(id)).response.status).toBe(409);
    await Promise.all([id, other].map(kill));
  });

  it('resets connections, answers 502 while paused, and none of the old ones after it', async () => {
    const sandbox = await create();
    const id = sandbox.sandboxId;
    const command = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    const ended = command.wait().then(
      () => 'ended',
      (error: { code: string }) => error.code,
    );
    expect(await healthOf(id)).toBe(204);
    await pause(id);
    expect(await ended).toBe('sandbox_unavailable');
    expect(await healthOf(id)).toBe(502);
    expect(await sandbox.isRunning()).toBe(false);
    expect((await resume(id)).response.status).toBe(201);
    expect(await healthOf(id)).toBe(204);
    expect(await sandbox.commands.list()).toEqual([]);
    await kill(id);
  });

  it('is paused once by two requests at the same time', async () => {
    const { sandboxId: id } = await create();
    const statuses = await Promise.all(
      [pause(id), pause(id)].map(async (answer) => (await answer).response.status),
    );
    expect(statuses).toEqual([204, 204]);
    const connects = await Promise.all([connect(id), connect(id), connect(id)]);
    expect(connects.map(({ response }) => response.status)).toContain(201);
    expect(await healthOf(id)).toBe(204);
    await kill(id);
  });

  it('is resumed by the call of early clients, for as long as it had or as they say', async () => {
    const { sandboxId: id } = await create();
    await pause(id);
    const token = (await get(id))?.envdAccessToken;
    const { data, response } = await resume(id);
    expect([response.status, data?.sandboxID]).toEqual([201, id]);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(data?.envdAccessToken).toBe(token);
    expect(await remaining(id)).toBeGreaterThan(100_000);
    expect((await resume(id)).response.status).toBe(409);
    await pause(id);
    expect((await resume(id, { timeout: 600, autoPause: false })).response.status).toBe(201);
    expect(await remaining(id)).toBeGreaterThan(590_000);
    await kill(id);
  });

  it('can be killed, which leaves nothing of it', async () => {
    const { sandboxId: id } = await create();
    await pause(id);
    expect((await kill(id)).response.status).toBe(204);
    for (const { response } of [await connect(id), await resume(id), await pause(id), await kill(id)])
      expect(response.status).toBe(404);
    expect(await get(id)).toBeUndefined();
    const traces = async () =>
      (await findTraces({ dataDir: stack.dataDir, ids: [id] })).filter((trace) => trace.includes(id));
    await expect.poll(traces).toEqual([]);
  });

  it('goes through ten cycles and loses no file', async () => {
    const sandbox = await create();
    for (let cycle = 1; cycle <= 10; cycle += 1) {
      await sandbox.files.write(`/home/user/${cycle}`, String(cycle));
      await sandbox.pause({ memory: false });
      await Sandbox.connect(sandbox.sandboxId, stack.connection);
    }
    const { stdout } = await sandbox.commands.run('cat $(ls | sort -n)');
    expect(stdout).toBe('12345678910');
    await sandbox.kill();
  });

  it('has no expiry while paused, and one again when resumed', async () => {
    const { sandboxId: id } = await create({ timeoutSeconds: 6 });
    await pause(id);
    await delay(7_000);
    expect((await get(id))?.state).toBe('paused');
    await resume(id, { timeout: 2 });
    await expect.poll(() => get(id)).toBeUndefined();
  });
});

it('a sandbox made with autoPause is paused at its end, also after a resume', async () => {
  const sandbox = await create({ autoPause: true, autoPauseMemory: false });
  const id = sandbox.sandboxId;
  await sandbox.files.write('/home/user/kept', 'kept');
  await sandbox.setTimeout(1000);
  for (let round = 0; round < 2; round += 1) {
    await expect.poll(() => healthOf(id)).toBe(502);
    await expect.poll(async () => (await get(id))?.state).toBe('paused');
    expect(await get(id)).toMatchObject({ lifecycle: { onTimeout: 'pause' } });
    expect((await resume(id, { timeout: 6, autoPause: false })).response.status).toBe(201);
    expect(await sandbox.files.read('/home/user/kept')).toBe('kept');
  }
  await kill(id);
});
