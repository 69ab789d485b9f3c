import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectToGoOn, readCounters, startCounters } from '../stack/counters.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const FORKS = 8;

const dataDir = mkdtempSync(join(tmpdir(), 'skerry-fork-'));
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ dataDir });
});
afterAll(async () => {
  await stack.down();
  rmSync(dataDir, { recursive: true });
});

const create = async (envVars: Record<string, string> = {}): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox({ timeoutSeconds: 600, envVars })).sandboxId, stack.connection);
const fork = (sandboxID: string, body?: { count?: number; timeout?: number }) =>
  stack.api.POST('/sandboxes/{sandboxID}/fork', { params: { path: { sandboxID } }, ...(body && { body }) });
const infoOf = async (sandboxID: string) =>
  (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;
const snapshotFolders = () => readdirSync(join(stack.dataDir, 'snapshots'));

describe('a fork of a running sandbox', () => {
  it(`goes on counting in ${FORKS} copies that then differ in id, name, address, token, boot and random numbers`, async () => {
    const source = await create({ GREETING: 'hallo' });
    await startCounters(source);
    await source.files.write('/home/user/mine', 'source');
    const before = await readCounters(source);
    const detail = await infoOf(source.sandboxId);
    const { data = [], response } = await fork(source.sandboxId, { count: FORKS, timeout: 300 });
    expect(response.status).toBe(201);
    const copies = data.map((entry) => {
      if ('error' in entry) throw new Error(entry.error.message);
      return entry.sandbox;
    });
    const ids = copies.map(({ sandboxID }) => sandboxID);
    const tokens = [detail, ...copies].map((one) => one?.envdAccessToken);
    expect(new Set(tokens).size).toBe(FORKS + 1);

    const all = [source, ...(await Promise.all(ids.map((id) => Sandbox.connect(id, stack.connection))))];
    expect(new Set(all.map(({ sandboxId }) => sandboxId)).size).toBe(FORKS + 1);
    await Promise.all(all.map((one) => expectToGoOn(one, before)));
    // The source is what it was, and its time did not change.
    expect(await infoOf(source.sandboxId)).toEqual(detail);
    const read = async (command: string) =>
      Promise.all(all.map(async (one) => (await one.commands.run(command, { user: 'root' })).stdout));
    for (const command of [
      'head -c 16 /dev/urandom | od -x',
      'python3 -c "import secrets; print(secrets.token_hex())"',
      'cat /proc/sys/kernel/random/boot_id',
      'echo $E2B_SANDBOX_ID',
      'python3 -c "import socket; s = socket.socket(2, 2); s.connect((\'1.1.1.1\', 9)); print(s.getsockname()[0])"',
    ]) {
      expect(new Set(await read(command)).size, command).toBe(FORKS + 1);
    }
    expect(await read('uname -n; cat /etc/hostname; getent hosts $(hostname)')).toEqual(
      all.map(({ sandboxId: id }) => expect.stringMatching(`^${id}\n${id}\n127\\.0\\.1\\.1 +${id}\n$`)),
    );
    expect(new Set(await read('echo $GREETING $SKERRY_CPU_COUNT $SKERRY_MEMORY_MB'))).toEqual(
      new Set(['hallo 2 1024\n']),
    );
    await Promise.all(all.map((one) => one.files.write('/home/user/mine', one.sandboxId)));
    expect(await read('cat /home/user/mine')).toEqual(all.map(({ sandboxId }) => sandboxId));
    expect(snapshotFolders()).toEqual([]);
    await Promise.all(all.map((one) => one.kill()));
  });

  it('is a sandbox like any other: it expires, is paused and resumed, and is forked again', async () => {
    const source = await create();
    await startCounters(source);
    const before = await readCounters(source);
    const [first] = await source.fork({ timeoutMs: 60_000 });
    if (!(first instanceof Sandbox)) throw first ?? new Error('no entry');
    await source.kill();
    await first.pause();
    await Sandbox.connect(first.sandboxId, stack.connection);
    const [second] = await first.fork({ timeoutMs: 2_000 });
    if (!(second instanceof Sandbox)) throw second ?? new Error('no entry');
    await expectToGoOn(second, before);
    await expect.poll(() => infoOf(second.sandboxId)).toBeUndefined();
    await expectToGoOn(first, before);
    await first.kill();
  });

  it('lives 15 seconds and is one when nothing is said, as the protocol has it', async () => {
    const source = await create();
    const { data = [] } = await fork(source.sandboxId);
    expect(data).toEqual([{ sandbox: expect.anything() }]);
    const [copy] = data;
    const info = await infoOf(copy !== undefined && 'sandbox' in copy ? copy.sandbox.sandboxID : '');
    const lifeMs = Date.parse(info?.endAt ?? '') - Date.parse(info?.startedAt ?? '');
    expect(lifeMs).toBe(15_000);
    await source.kill();
  });

  it('has the files alone with "memory": false, while the commands of the source continue', async () => {
    const source = await create();
    await source.files.write('/home/user/mine', 'source');
    const running = await source.commands.run('sleep 600; true', { background: true });
    const { data = [], response } = await stack.api.POST('/v2/sandboxes/{sandboxID}/fork', {
      params: { path: { sandboxID: source.sandboxId } },
      body: { count: 2, memory: false },
    });
    expect([response.status, data.length]).toEqual([201, 2]);
    for (const entry of data) {
      if ('error' in entry) throw new Error(entry.error.message);
      const { endAt, startedAt } = (await infoOf(entry.sandbox.sandboxID)) ?? {};
      expect(Date.parse(endAt ?? '') - Date.parse(startedAt ?? '')).toBe(300_000);
      const copy = await Sandbox.connect(entry.sandbox.sandboxID, stack.connection);
      expect(await copy.files.read('/home/user/mine')).toBe('source');
      expect(await copy.commands.list()).toEqual([]);
      await copy.kill();
    }
    const [own] = await source.fork({ memory: false, timeoutMs: 60_000 });
    if (!(own instanceof Sandbox)) throw own ?? new Error('no entry');
    expect(await own.commands.list()).toEqual([]);
    expect((await source.commands.list()).map(({ pid }) => pid)).toEqual([running.pid]);
    expect(snapshotFolders()).toEqual([]);
    await Promise.all([own.kill(), source.kill()]);
  });

  it('is printed by the command, one id a line', async () => {
    const source = await create();
    const printed = await runProgram(skerryProgram, [
      ...['sandbox', 'fork', source.sandboxId, '--count', '2', '--timeout', '60'],
      ...['--data', stack.dataDir],
    ]);
    const ids = printed.trim().split('\n');
    expect(ids).toHaveLength(2);
    for (const id of ids) expect((await infoOf(id))?.state).toBe('running');
    const ofFiles = await runProgram(skerryProgram, [
      ...['sandbox', 'fork', source.sandboxId, '--no-memory', '--data', stack.dataDir],
    ]);
    ids.push(ofFiles.trim());
    await Promise.all([source.sandboxId, ...ids].map((id) => Sandbox.kill(id, stack.connection)));
  });

  it('is refused for what is no count, for what is not there, and for what is paused', async () => {
    const { sandboxId: id } = await create();
    for (const count of [0, -1, 101, 1.5]) {
      const { response, error } = await fork(id, { count });
      expect([response.status, error?.message]).toEqual([400, expect.stringContaining('count')]);
    }
    expect((await fork('i00000000000000000000')).response.status).toBe(404);
    await Sandbox.pause(id, stack.connection);
    const { response, error } = await fork(id);
    expect([response.status, error?.code]).toEqual([409, 409]);
    await Sandbox.kill(id, stack.connection);
    expect((await fork(id)).response.status).toBe(404);
    expect(snapshotFolders()).toEqual([]);
  });

  it('is not offered by a server that cannot keep memory', async () => {
    await using other = await startStack({ args: ['--no-memory'] });
    const { sandboxId } = await other.createSandbox();
    const refused = await Sandbox.fork(sandboxId, other.connection).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SandboxError);
    expect((refused as SandboxError).code).toBe('unimplemented');
  });
});

describe('a snapshot with memory', () => {
  it('goes on counting in what is created from it, after its sandbox and its server have ended', async () => {
    const source = await create();
    await startCounters(source);
    const before = await readCounters(source);
    const { snapshotId } = await source.createSnapshot({ name: 'counting' });
    await expectToGoOn(source, before);
    const taken = await readCounters(source);
    await source.kill();
    await stack.kill();
    stack = await startStack({ dataDir });
    const options = { ...stack.connection, template: snapshotId, envs: { GREETING: 'new' } };
    const copies = await Promise.all([Sandbox.create(options), Sandbox.create(options)]);
    for (const copy of copies) {
      await expectToGoOn(copy, before);
      expect((await readCounters(copy)).node.pid).toBe(taken.node.pid);
      expect((await copy.commands.run('echo $GREETING; uname -n')).stdout).toBe(`new\n${copy.sandboxId}\n`);
      await copy.kill();
    }
    expect(await snapshots.delete(snapshotId, stack.connection)).toBe(true);
    expect(snapshotFolders()).toEqual([]);
  });
});
