import { mkdtempSync, rmSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTraces } from '@skerry/runtime/testing';
import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let dataDir: string;
let stack: Stack;
let sandbox: Sandbox;

const start = async (): Promise<void> => {
  stack = await startStack({ dataDir, args: ['--isolation', 'gvisor'] });
};
/** Connects as a client that knows the id alone. */
const find = (): Promise<Sandbox> => Sandbox.connect(sandbox.sandboxId, stack.connection);
const output = async (command: string): Promise<string> => (await sandbox.commands.run(command)).stdout;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'skerry-gvisor-'));
  await start();
  sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 300_000, envs: { GREETING: 'hallo' } });
});
afterAll(async () => {
  await runProgram(skerryProgram, ['down', '--data', dataDir]);
  rmSync(dataDir, { recursive: true });
});

it('a sandbox of level gvisor runs commands, on a kernel of its own', async () => {
  expect(await output('echo $GREETING; whoami; grep ^Seccomp: /proc/self/status')).toBe(
    'hallo\nuser\nSeccomp:\t2\n',
  );
  expect(await output('uname -r')).not.toBe(`${release()}\n`);
  const failed = sandbox.commands.run('echo to stderr >&2; exit 3');
  await expect(failed).rejects.toMatchObject({ exitCode: 3, stderr: 'to stderr\n' });
});

it('keeps its files through reads, writes, lists and watches', async () => {
  const events: string[] = [];
  await sandbox.files.makeDir('/home/user/work');
  const watch = await sandbox.files.watchDir('/home/user/work', {
    onEvent: ({ name }) => void events.push(name),
  });
  await sandbox.files.write('/home/user/work/large', 'x'.repeat(5_000_000));
  await expect.poll(() => events).toContain('large');
  watch.stop();
  expect(await output('wc -c < work/large')).toBe('5000000\n');
  expect(
    (await sandbox.files.list('/home/user/work')).map(({ name, sizeBytes }) => [name, sizeBytes]),
  ).toEqual([['large', 5_000_000]]);
});

it('has terminals, and servers that are reached from outside', async () => {
  let screen = '';
  const terminal = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    onData: (bytes) => {
      screen += new TextDecoder().decode(bytes);
    },
  });
  await terminal.sendInput('stty size; tty; exit\n');
  await terminal.wait();
  expect(screen).toMatch(/24 80\r\n\/dev\/pts\/\d/);
  await sandbox.commands.run('python3 -m http.server 8000', { background: true, timeoutMs: 0 });
  const page = async () => (await fetchByHost(sandbox.getUrl(8000))).status;
  await expect.poll(page).toBe(200);
});

it('keeps its processes over a pause and the end of its server', async () => {
  const script = 'i=0; while :; do i=$((i+1)); echo $i > count.new; mv count.new count; sleep 0.02; done';
  const counter = await sandbox.commands.run(script, { background: true, timeoutMs: 0 });
  // The command fails when its sandbox is killed at the end of the tests, which is expected.
  counter.wait().catch(() => {});
  const count = async () => Number(await sandbox.files.read('/home/user/count').catch(() => '0'));
  await expect.poll(count).toBeGreaterThan(3);
  await sandbox.pause();
  await stack.kill();
  await start();
  sandbox = await find();
  const seen = await count();
  await expect.poll(count).toBeGreaterThan(seen);
  expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(counter.pid);
  expect(await output('echo $GREETING; date +%s')).toMatch(
    new RegExp(`^hallo\n${String(Math.floor(Date.now() / 1000)).slice(0, -2)}`),
  );
});

it('goes on in forks and in sandboxes of a snapshot, each of which is one of its own', async () => {
  const { snapshotId } = await sandbox.createSnapshot();
  const forks = (await sandbox.fork({ count: 2, timeoutMs: 300_000 })).map((made) => {
    if (made instanceof Sandbox) return made;
    throw made;
  });
  const copies = [
    ...forks,
    await Sandbox.create({ ...stack.connection, template: snapshotId, envs: { GREETING: 'hallo' } }),
  ];
  const all = [sandbox, ...copies];
  try {
    for (const copy of copies) {
      const count = async () => Number(await copy.files.read('/home/user/count').catch(() => '0'));
      const seen = await count();
      expect(seen).toBeGreaterThan(3);
      await expect.poll(count).toBeGreaterThan(seen);
      await copy.files.write('/home/user/mine', copy.sandboxId);
    }
    const tell = (command: string) =>
      Promise.all(all.map(async (one) => (await one.commands.run(command)).stdout));
    const ids = all.map(({ sandboxId }) => `${sandboxId}\n`);
    expect(await tell('uname -n')).toEqual(ids);
    expect(await tell('echo $E2B_SANDBOX_ID')).toEqual(ids);
    expect(new Set(await tell('head -c 16 /dev/urandom | od -x')).size).toBe(all.length);
    expect(await tell('cat mine 2>/dev/null; echo $GREETING')).toEqual(
      all.map((one) => `${one === sandbox ? '' : one.sandboxId}hallo\n`),
    );
  } finally {
    for (const copy of copies) await copy.kill();
    await snapshots.delete(snapshotId, stack.connection);
  }
});

it('outlives a server that is killed, and is found by the next with what runs inside', async () => {
  await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
  await stack.kill();
  await start();
  sandbox = await find();
  expect(await output('pgrep -cfx "sleep 1000"; echo $GREETING')).toBe('1\nhallo\n');
});

it('keeps files of every folder over a pause, and boots afresh', async () => {
  await sandbox.commands.run('echo 1 > /tmp/one; echo 2 > /var/tmp/two; ln -s /tmp/one three');
  const bootId = await sandbox.files.read('/proc/sys/kernel/random/boot_id');
  await sandbox.pause({ memory: false });
  sandbox = await find();
  expect(await output('cat three /var/tmp/two; pgrep -cx sleep; echo $GREETING')).toBe('1\n2\n0\nhallo\n');
  expect(await sandbox.files.read('/proc/sys/kernel/random/boot_id')).not.toBe(bootId);
});

it('leaves nothing when it is killed', async () => {
  const { sandboxId: id } = sandbox;
  expect(await sandbox.kill()).toBe(true);
  const traces = async () => (await findTraces({ dataDir, ids: [id] })).filter((trace) => trace.includes(id));
  await expect.poll(traces).toEqual([]);
});
