import { strict as assert } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandExitError, type Sandbox } from '@skerry/sdk';

/** What `command` printed, on both streams; how it ended does not matter. */
export async function shell(sandbox: Sandbox, command: string): Promise<string> {
  const result = await sandbox.commands.run(command, { timeoutMs: 0 }).catch((error: unknown) => {
    if (error instanceof CommandExitError) return error;
    throw error;
  });
  return `${result.stdout}${result.stderr}`.trim();
}

/** Whether one can work in a sandbox: new commands, a terminal, an upload and a download. */
export async function checkWork(sandbox: Sandbox): Promise<void> {
  const { stdout } = await sandbox.commands.run('echo "$((6 * 7))"; id -un');
  assert.equal(stdout, '42\nuser\n', 'a new command');
  let screen = '';
  const terminal = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    command: 'stty size; tty',
    onData: (bytes) => {
      screen += new TextDecoder().decode(bytes);
    },
  });
  assert.equal((await terminal.wait()).exitCode, 0, `a terminal, which showed ${screen}`);
  assert.match(screen, /24 80\r?\n\/dev\/pts\/\d+/, 'a terminal');
  const data = 'many words '.repeat(100_000);
  await sandbox.files.write('/home/user/uploaded', data);
  assert.equal(await shell(sandbox, 'wc -c < /home/user/uploaded'), String(data.length), 'an upload');
  assert.equal(await sandbox.files.read('/home/user/uploaded'), data, 'a download');
}

const counter =
  'i=0; while :; do i=$((i + 1)); echo $i $$ > /tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.2; done';

/** Starts a process that counts, and resolves when it does. */
export async function startCounter(sandbox: Sandbox): Promise<void> {
  await sandbox.commands.run(counter, { background: true, timeoutMs: 0 });
  for (let tries = 0; (await readCounter(sandbox)).count < 3; tries += 1) {
    assert.ok(tries < 100, 'the counter does not count');
    await delay(500);
  }
}

export interface Count {
  count: number;
  pid: number;
}

export async function readCounter(sandbox: Sandbox): Promise<Count> {
  const [count = 0, pid = 0] = (await shell(sandbox, 'cat /tmp/count')).split(' ').map(Number);
  return { count: Number.isNaN(count) ? 0 : count, pid };
}

/** Whether the same process counts on from where it was. */
export async function checkCountsOn(sandbox: Sandbox, before: Count): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const now = await readCounter(sandbox);
    assert.equal(now.pid, before.pid, 'the process that counted');
    if (now.count > before.count) return;
    assert.ok(tries < 100, `the counter stands at ${now.count}, it was ${before.count}`);
    await delay(500);
  }
}
