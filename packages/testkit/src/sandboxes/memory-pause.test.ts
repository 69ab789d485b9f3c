import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findTraces } from '@skerry/runtime/testing';
import { MemoryNotKeptError, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changedPaths, expectKeptOrRefused } from '../stack/changed-paths.ts';
import { counterNames, expectToGoOn, readCounters, startCounters } from '../stack/counters.ts';
import { expectVisitsToEnd } from '../stack/kept-visits.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { expectToSurvive, startSurvivors } from '../stack/survivors.ts';

// The long form is for a machine that has nothing else to do.
const cycles = Number(process.env.SKERRY_PAUSE_CYCLES ?? 6);

const dataDir = mkdtempSync(join(tmpdir(), 'skerry-memory-'));
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ dataDir });
});
afterAll(async () => {
  await stack.down();
  rmSync(dataDir, { recursive: true });
});

const create = async (): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox({ timeoutSeconds: 600 })).sandboxId, stack.connection);
const infoOf = async (sandboxID: string) =>
  (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;

describe('a sandbox that is paused with its memory', () => {
  it('goes on counting after every process of skerry was killed and another server started', async () => {
    const sandbox = await create();
    await startCounters(sandbox);
    const before = await readCounters(sandbox);
    await sandbox.pause();
    const helpers = readFileSync(`/proc/${stack.pid}/task/${stack.pid}/children`, 'utf8').trim().split(' ');
    expect(helpers).not.toEqual(['']);
    await stack.kill();
    for (const pid of helpers.map(Number)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        // The helper ends with its server.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    stack = await startStack({ dataDir });
    await delay(1_000);
    const after = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    await expectToGoOn(after, before);
    await after.kill();
  });

  it(`goes on counting through ${cycles} cycles`, async () => {
    const sandbox = await create();
    await startCounters(sandbox);
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const before = await readCounters(sandbox);
      await sandbox.pause();
      expect(await sandbox.isRunning()).toBe(false);
      await Sandbox.connect(sandbox.sandboxId, stack.connection);
      await expectToGoOn(sandbox, before);
    }
    await sandbox.kill();
  });

  it('keeps children on pipes, watches, locks, deleted files, unix sockets and connections over loopback, and so do its copies', async () => {
    const sandbox = await create();
    const before = await startSurvivors(sandbox);
    await sandbox.pause();
    const again = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    const paused = await expectToSurvive(again, before, 'paused');
    const copies = await again.fork({ count: 2, timeoutMs: 60_000 });
    const all = [again, ...copies.filter((copy) => copy instanceof Sandbox)];
    expect(all).toHaveLength(3);
    await Promise.all(all.map((one, index) => expectToSurvive(one, paused, `copied${index}`)));
    await Promise.all(all.map((one) => one.kill()));
  });

  it('starts commands after a resume and in forks, at an OOM score of 500 beside an agent at 0', async () => {
    const sandbox = await create();
    // The agent has the score of the command itself while it starts one.
    const program =
      'cat /proc/self/oom_score_adj; until grep -x 0 /proc/$PPID/oom_score_adj; do sleep 0.1; done';
    const look = (one: Sandbox) => one.commands.run(program, { user: 'root' });
    const expected = { exitCode: 0, stdout: '500\n0\n', stderr: '' };
    expect(await look(sandbox)).toMatchObject(expected);
    await sandbox.pause();
    const again = await Sandbox.connect(sandbox.sandboxId, stack.connection);
    expect(await look(again)).toMatchObject(expected);
    const copies = (await again.fork({ count: 2, timeoutMs: 60_000 })).filter(
      (one) => one instanceof Sandbox,
    );
    expect(copies).toHaveLength(2);
    for (const one of [again, ...copies]) expect(await look(one)).toMatchObject(expected);
    for (const one of [again, ...copies]) await one.kill();
  });

  it('keeps what the agent knows: commands, their input and output, a terminal, id, token and variables', async () => {
    const { sandboxId: id } = await stack.createSandbox({ envVars: { GREETING: 'hallo' } });
    const sandbox = await Sandbox.connect(id, stack.connection);
    const detail = await infoOf(id);
    const echo = await sandbox.commands.run('while read line; do echo "got $line"; done', {
      background: true,
      stdin: true,
      timeoutMs: 0,
    });
    echo.wait().catch(() => {});
    const decoder = new TextDecoder();
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} });
    await terminal.sendInput('kept=$((6*7)); cd /var\r');
    terminal.wait().catch(() => {});
    const bootId = await sandbox.files.read('/proc/sys/kernel/random/boot_id');
    await delay(200);

    await sandbox.pause();
    expect((await infoOf(id))?.state).toBe('paused');
    const again = await Sandbox.connect(id, stack.connection);

    expect(await infoOf(id)).toEqual({ ...detail, startedAt: expect.any(String), endAt: expect.any(String) });
    expect((await again.commands.list()).map(({ pid }) => pid)).toContain(echo.pid);
    let heard = '';
    const attached = await again.commands.connect(echo.pid, {
      timeoutMs: 0,
      onStdout: (text) => {
        heard += text;
      },
    });
    attached.wait().catch(() => {});
    await again.commands.sendStdin(echo.pid, 'me\n');
    await expect.poll(() => heard).toContain('got me\n');
    let screen = '';
    const shown = await again.pty.connect(terminal.pid, {
      timeoutMs: 0,
      onData: (bytes) => {
        screen += decoder.decode(bytes, { stream: true });
      },
    });
    shown.wait().catch(() => {});
    await shown.sendInput('echo "[$kept $PWD $(tty)]"\r');
    await expect.poll(() => screen).toMatch(/\[42 \/var \/dev\/pts\/\d+\]/);
    expect((await again.commands.run('echo $GREETING')).stdout).toBe('hallo\n');
    expect(await again.files.read('/proc/sys/kernel/random/boot_id')).toBe(bootId);
    await again.kill();
  });

  it('resumes beside a folder that has the name of a removed working folder, and so does its snapshot', async () => {
    const sandbox = await create();
    const changed = changedPaths['a working folder that was removed, and whose name is used again'];
    await expectKeptOrRefused(stack, sandbox, { changed, level: 'container' });
    await sandbox.kill();
  });

  it('is refused to every caller with what prevents it, and the process that holds it, and runs on', async () => {
    const sandbox = await create();
    const program = `import os, time; f = os.memfd_create("program", os.MFD_CLOEXEC)
os.write(f, open("/bin/sleep", "rb").read()); os.execve(f, ["sleep", "1000"], {})`;
    const started = await sandbox.commands.run(
      `python3 -c '${program}' > /dev/null 2>&1 & until grep -q ^sleep /proc/$!/cmdline; do sleep 0.1; done; echo $!`,
    );
    const obstacle = {
      kind: 'program_in_memory',
      process: { pid: Number(started.stdout), command: expect.any(String) },
    };
    for (const act of [() => sandbox.pause(), () => sandbox.createSnapshot()]) {
      const refused = await act().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(MemoryNotKeptError);
      expect(refused).toMatchObject({ code: 'conflict', retryable: false, obstacle });
      const { message } = refused as Error;
      expect(message).toContain(`process ${obstacle.process.pid} (`);
      expect(message).not.toMatch(/criu|skerry-memory|\/proc/i);
    }
    const params = { path: { sandboxID: sandbox.sandboxId } };
    const { error } = await stack.api.POST('/sandboxes/{sandboxID}/fork', { params });
    expect(error).toMatchObject({ code: 409, error_code: 'memory_not_kept', obstacle });
    expect((await infoOf(sandbox.sandboxId))?.state).toBe('running');
    await sandbox.commands.run(`kill ${obstacle.process.pid}`);
    await sandbox.pause();
    await sandbox.kill();
  });

  it('ends the connections of a server that answers its visitors and never closes, each time', async () => {
    const sandbox = await create();
    await expectVisitsToEnd(stack, sandbox);
    await sandbox.kill();
  });

  it('is what autoPause makes of it at its end, unless the files are enough', async () => {
    const { sandboxId: id } = await stack.createSandbox({ autoPause: true });
    const sandbox = await Sandbox.connect(id, stack.connection);
    await startCounters(sandbox);
    const before = await readCounters(sandbox);
    await sandbox.setTimeout(500);
    await expect.poll(async () => (await infoOf(id))?.state).toBe('paused');
    await Sandbox.connect(id, stack.connection);
    const after = await readCounters(sandbox);
    for (const name of counterNames) expect(after[name].pid).toBe(before[name].pid);
    await sandbox.kill();
  });

  it('starts from its files alone when that is asked for', async () => {
    const sandbox = await create();
    await startCounters(sandbox);
    const bootId = await sandbox.files.read('/proc/sys/kernel/random/boot_id');
    await sandbox.pause();
    await Sandbox.connect(sandbox.sandboxId, { ...stack.connection, memory: false });
    expect(await sandbox.files.read('/proc/sys/kernel/random/boot_id')).not.toBe(bootId);
    expect((await sandbox.commands.run('pgrep -x python3 || echo none')).stdout).toBe('none\n');
    expect(await sandbox.files.exists('/tmp/python')).toBe(true);
    await sandbox.kill();
  });

  it('takes no memory, process or network of the host while it is paused', async () => {
    const sandbox = await create();
    await sandbox.commands.run(
      'setsid python3 -c \'import time; kept = b"x" * (200 << 20); time.sleep(1000)\' > /dev/null 2>&1 &',
    );
    await delay(500);
    const traces = async (): Promise<string[]> => {
      const { sandboxId: id } = sandbox;
      return (await findTraces({ dataDir: stack.dataDir, ids: [id] })).filter((trace) => trace.includes(id));
    };
    expect(await traces()).not.toEqual([]);
    await sandbox.pause();
    // What keeps it is no trace: a record, the disk and the images.
    await expect.poll(traces).toEqual([`folder ${sandbox.sandboxId}`]);
    await sandbox.kill();
  });
});

describe('a server that cannot keep memory', () => {
  it('refuses to, naming the field, and the sandbox runs on', async () => {
    await using other = await startStack({ args: ['--no-memory'] });
    const { sandboxId: id } = await other.createSandbox();
    for (const body of [{}, { memory: true }, { mode: 'full' as const }]) {
      const { response, error } = await other.api.POST('/sandboxes/{sandboxID}/pause', {
        params: { path: { sandboxID: id } },
        body,
      });
      expect(response.status).toBe(400);
      expect(error).toMatchObject({ code: 400, message: expect.stringContaining('body.memory') });
    }
    const sandbox = await Sandbox.connect(id, other.connection);
    expect(await sandbox.isRunning()).toBe(true);
    const { response, error } = await other.api.POST('/v2/sandboxes', {
      body: { templateID: 'base', autoPause: true },
    });
    expect(response.status).toBe(400);
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining('body.autoPauseMemory') });
  });
});
