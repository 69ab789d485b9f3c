import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { Signal, type StreamInputRequestSchema } from '@skerry/envd-client/process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { byPid, byTag, createProcessRequests, sh, stdin } from '../testing/process-requests.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

type StreamInputMessage = MessageInitShape<typeof StreamInputRequestSchema>;

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({
    sandboxId: 'i1',
    templateId: 't1',
    envVars: { GREETING: 'hi' },
    defaultUser: 'user',
  });
});
afterAll(() => agent.stop());

const { attach, begin, run } = createProcessRequests(() => agent);
const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe('Connect', () => {
  it('starts with start, gives only new output, and any number of callers the same', async () => {
    const { pid, rest } = await begin(sh('echo old; read line; echo "new $line"'));
    const old = await rest[Symbol.asyncIterator]().next();
    const value = new Uint8Array(Buffer.from('old\n'));
    expect(old.value?.event?.event).toMatchObject({
      case: 'data',
      value: { output: { case: 'stdout', value } },
    });
    const [first, second] = [await attach(byPid(pid)), await attach(byPid(pid))];
    await agent.processes().sendInput({ ...byPid(pid), input: stdin('x\n') });
    const all = await Promise.all([first.rest, second.rest, rest].map(collectOutput));
    expect(all.map(({ stdout }) => stdout)).toEqual(['new x\n', 'new x\n', 'new x\n']);
    expect(all[0]?.kinds).toEqual(['stdout', 'end']);
  });

  it('still tells the end of a process that is gone, without its output', async () => {
    const { pid } = await run('echo x; exit 7');
    const { kinds, end } = await collectOutput(agent.processes().connect(byPid(pid)));
    expect([kinds, end?.exitCode]).toEqual([['start', 'end'], 7]);
  });

  it('ends only the stream at its deadline', async () => {
    const { pid, rest } = await begin(sh('read _; echo alive'));
    const short = collectOutput(agent.processes().connect(byPid(pid), { timeoutMs: 100 }));
    await expect(short).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await agent.processes().sendInput({ ...byPid(pid), input: stdin('\n') });
    expect((await collectOutput(rest)).stdout).toBe('alive\n');
  });

  it('finds the most recently started of several processes with one tag, past others', async () => {
    await begin({ ...sh('exec sleep 60'), tag: 'other' });
    const older = await begin({ ...sh('exec sleep 60'), tag: 'same' });
    const newer = await begin({ ...sh('exec sleep 60'), tag: 'same' });
    await agent.processes().sendSignal({ ...byTag('same'), signal: Signal.SIGKILL });
    expect((await collectOutput(newer.rest)).end?.status).toBe('signal: killed');
    expect(isAlive(older.pid)).toBe(true);
    for (const tag of ['other', 'same']) {
      const target = tag === 'same' ? byPid(older.pid) : byTag(tag);
      await agent.processes().sendSignal({ ...target, signal: Signal.SIGKILL });
    }
  });

  it('answers not_found for what was never started and unimplemented for an empty selector', async () => {
    const processes = agent.processes();
    await expect(collectOutput(processes.connect(byPid(1)))).rejects.toMatchObject({ code: Code.NotFound });
    await expect(collectOutput(processes.connect(byTag('none')))).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await expect(collectOutput(processes.connect({}))).rejects.toMatchObject({ code: Code.Unimplemented });
  });

  it('sends keepalives on a silent stream at the asked interval, never before start', async () => {
    const headers = { 'keepalive-ping-interval': '1' };
    const begunMs = performance.now();
    const stream = agent.processes({ headers }).start(sh('exec sleep 60'))[Symbol.asyncIterator]();
    const next = async () => (await stream.next()).value?.event?.event;
    const first = await next();
    expect(first?.case).toBe('start');
    for (let second = 1; second <= 2; second += 1) {
      expect((await next())?.case).toBe('keepalive');
      expect(performance.now() - begunMs).toBeGreaterThan(second * 1_000 - 50);
    }
    // Not much more often than asked either.
    await delay(500);
    const target = byPid(first?.case === 'start' ? first.value.pid : 0);
    await agent.processes().sendSignal({ ...target, signal: Signal.SIGKILL });
    const { kinds } = await collectOutput({ [Symbol.asyncIterator]: () => stream });
    expect(kinds.at(-1)).toBe('end');
    expect(kinds.length + 1).toBeLessThanOrEqual((performance.now() - begunMs) / 1_000 + 0.05);
    const bad = agent.processes({ headers: { 'keepalive-ping-interval': 'never' } });
    await expect(collectOutput(bad.start(sh('true')))).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

describe('List', () => {
  it('shows live processes with their config, pid and tag, and no others', async () => {
    const { pid, rest } = await begin({
      process: { cmd: 'sleep', args: ['60'], envs: { A: '1' }, cwd: '/' },
      tag: 'nap',
    });
    const { processes } = await agent.processes().list({});
    expect(processes.find((info) => info.pid === pid)).toMatchObject({
      config: { cmd: 'sleep', args: ['60'], envs: { A: '1' }, cwd: '/' },
      tag: 'nap',
    });
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
    await collectOutput(rest);
    expect((await agent.processes().list({})).processes.some((info) => info.pid === pid)).toBe(false);
  });
});

describe('SendSignal', () => {
  it('ends a process by SIGTERM, without waiting for a child that holds its output', async () => {
    const { pid, rest } = await begin(sh('sleep 60 & echo $!; wait'));
    const told = (await rest[Symbol.asyncIterator]().next()).value?.event?.event;
    if (told?.case !== 'data') throw new Error(`the first event is ${told?.case}`);
    const child = Number(Buffer.from(told.value.output.value ?? []).toString());
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
    const { end } = await collectOutput(rest);
    expect(end).toMatchObject({ exitCode: -1, exited: false, status: 'signal: terminated' });
    expect(isAlive(child)).toBe(true);
    process.kill(child, 'SIGKILL');
  });

  it('keeps what the process wrote before it was signalled', async () => {
    const { pid, rest } = await begin(
      sh('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done'),
    );
    await rest[Symbol.asyncIterator]().next();
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
    expect(await collectOutput(rest)).toMatchObject({ stdout: 'bye\n', end: { exitCode: 0 } });
  });

  it('refuses other signals with unimplemented and an ended process with not_found', async () => {
    const { pid } = await run('true');
    const processes = agent.processes();
    await expect(processes.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    const live = await begin(sh('exec sleep 60'));
    await expect(processes.sendSignal({ ...byPid(live.pid), signal: 2 as Signal })).rejects.toMatchObject({
      code: Code.Unimplemented,
    });
    await processes.sendSignal({ ...byPid(live.pid), signal: Signal.SIGKILL });
  });
});

describe('input', () => {
  it('reaches stdin in order, and CloseStdin gives end of file, also the second time', async () => {
    const { pid, rest } = await begin(sh('cat'));
    const processes = agent.processes();
    for (const text of ['one ', 'two ', 'three'])
      await processes.sendInput({ ...byPid(pid), input: stdin(text) });
    await processes.closeStdin(byPid(pid));
    await processes.closeStdin(byPid(pid)).catch((error) => expect(error.code).toBe(Code.NotFound));
    expect(await collectOutput(rest)).toMatchObject({ stdout: 'one two three', end: { exitCode: 0 } });
  });

  it('closes stdin twice with success while the process lives', async () => {
    const { pid, rest } = await begin(sh('exec sleep 60'));
    await agent.processes().closeStdin(byPid(pid));
    await agent.processes().closeStdin(byPid(pid));
    await expect(agent.processes().sendInput({ ...byPid(pid), input: stdin('x') })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
    await collectOutput(rest);
  });

  it('is refused with internal where it does not fit, and unimplemented when empty', async () => {
    const { pid } = await begin({ ...sh('exec sleep 60'), stdin: false });
    const processes = agent.processes();
    const pty = { input: { case: 'pty' as const, value: Buffer.from('x') } };
    await expect(processes.sendInput({ ...byPid(pid), input: stdin('x') })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await expect(processes.sendInput({ ...byPid(pid), input: pty })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await expect(processes.sendInput(byPid(pid))).rejects.toMatchObject({ code: Code.Unimplemented });
    await expect(processes.sendInput({ ...byPid(1), input: stdin('x') })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await processes.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  });

  it('streams many messages in their order, larger than any pipe, and leaves stdin open', async () => {
    const { pid, rest } = await begin(sh('sleep 0.3; head -c 4000000 | md5sum'));
    const pieces = Array.from({ length: 40 }, (_, at) => Buffer.alloc(100_000, `piece ${at} `));
    const messages = async function* (): AsyncGenerator<StreamInputMessage> {
      yield { event: { case: 'start', value: byPid(pid) } };
      for (const value of pieces) {
        yield { event: { case: 'data', value: { input: { input: { case: 'stdin', value } } } } };
        yield { event: { case: 'keepalive', value: {} } };
      }
    };
    await agent.processes().streamInput(messages());
    const hash = createHash('md5').update(Buffer.concat(pieces)).digest('hex');
    expect((await collectOutput(rest)).stdout).toBe(`${hash}  -\n`);
  });

  it.each([
    [
      'data before start',
      [{ event: { case: 'data' as const, value: { input: stdin('x') } } }],
      Code.InvalidArgument,
    ],
    ['keepalive before start', [{ event: { case: 'keepalive' as const, value: {} } }], Code.InvalidArgument],
    ['an empty message', [{}], Code.InvalidArgument],
    ['no message at all', [], Code.InvalidArgument],
    ['an unknown process', [{ event: { case: 'start' as const, value: byPid(1) } }], Code.NotFound],
  ])('refuses a stream with %s, and survives it', async (_what, messages, code) => {
    const stream = agent.processes().streamInput(
      (async function* () {
        yield* messages;
      })(),
    );
    await expect(stream).rejects.toMatchObject({ code });
    expect((await run('echo fine')).stdout).toBe('fine\n');
  });

  it('refuses a second start', async () => {
    const { pid } = await begin(sh('exec sleep 60'));
    const start = { event: { case: 'start' as const, value: byPid(pid) } };
    const stream = agent.processes().streamInput(
      (async function* () {
        yield start;
        yield start;
      })(),
    );
    await expect(stream).rejects.toMatchObject({ code: Code.InvalidArgument });
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  });
});

describe('the protocol of the calls', () => {
  it('wants Connect-Protocol-Version 1', async () => {
    for (const version of [undefined, '2']) {
      const headers = {
        'content-type': 'application/json',
        ...(version && { 'connect-protocol-version': version }),
      };
      const { status, json } = await agent.http({
        method: 'POST',
        path: '/process.Process/List',
        headers,
        body: '{}',
      });
      expect([status, json]).toMatchObject([400, { code: 'invalid_argument' }]);
    }
  });

  it('answers JSON that is none with invalid_argument', async () => {
    const { status, json } = await agent.http({
      method: 'POST',
      path: '/process.Process/SendInput',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: '{"process":',
    });
    expect([status, json]).toMatchObject([400, { code: 'invalid_argument' }]);
  });

  it('accepts snake_case and unknown fields', async () => {
    const { status, json } = await agent.call('process.Process/List', { unknown_field: 1 });
    expect([status, json]).toMatchObject([200, {}]);
  });

  it('never compresses a stream that did not offer it', async () => {
    const message = Buffer.from(JSON.stringify({ process: { cmd: 'seq', args: ['5000'] } }));
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    envelope.writeUInt32BE(message.length, 1);
    const { headers, body } = await agent.http({
      method: 'POST',
      path: '/process.Process/Start',
      headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' },
      body: envelope,
    });
    expect(headers).not.toHaveProperty('connect-content-encoding');
    const flags: number[] = [];
    for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) flags.push(body.readUInt8(at));
    expect(flags.at(-1)).toBe(2);
    expect(flags.slice(0, -1).every((flag) => flag === 0)).toBe(true);
  });
});
