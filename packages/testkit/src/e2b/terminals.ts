import { expect, it } from 'vitest';
import type { NewestE2b } from './clients.ts';
import type { Ask } from './given.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Opening terminals, typing into them, and what becomes of them. */
export function terminalsScenario(ask: Ask): void {
  it('opens a terminal of a size, types, resizes and reads how it ended', async () => {
    const { e2b, sandbox } = ask();
    let screen = '';
    const terminal = await sandbox.pty.create({
      cols: 100,
      rows: 30,
      user: 'root',
      cwd: '/etc',
      envs: { MARK: 'here' },
      onData(data) {
        screen += new TextDecoder().decode(data);
      },
    });
    await sandbox.pty.sendInput(terminal.pid, bytes('echo "[$(stty size) $TERM $MARK $(whoami) $PWD]"\r'));
    await expect.poll(() => screen).toContain('[30 100 xterm-256color here root /etc]');
    await sandbox.pty.resize(terminal.pid, { cols: 132, rows: 43 });
    await sandbox.pty.sendInput(terminal.pid, bytes('echo "[$(stty size)]"\r'));
    await expect.poll(() => screen).toContain('[43 132]');
    // Between its fork and its exec a child of bash still has bash's handlers, and an interrupt is lost: it must run first.
    await sandbox.pty.sendInput(terminal.pid, bytes(`sh -c 'echo "[running]"; exec sleep 100'\r`));
    await expect.poll(() => screen).toMatch(/[\r\n]\[running\]\r\n/);
    await sandbox.pty.sendInput(terminal.pid, bytes('\u0003'));
    await sandbox.pty.sendInput(terminal.pid, bytes('exit 5\r'));
    const failure = await terminal.wait().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(e2b.CommandExitError);
    expect(failure).toMatchObject({ exitCode: 5 });
  });

  it('kills a terminal, once', async () => {
    const { pty } = ask().sandbox;
    const terminal = await pty.create({ cols: 80, rows: 24, onData: () => undefined });
    expect(await pty.kill(terminal.pid)).toBe(true);
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: -1 });
    expect(await pty.kill(terminal.pid)).toBe(false);
  });
}

/** The oldest release cannot attach to a terminal. */
export function terminalAttachScenario(ask: Ask): void {
  it('leaves a terminal and attaches to it again', async () => {
    const { pty } = ask().sandbox as unknown as InstanceType<NewestE2b['Sandbox']>;
    const terminal = await pty.create({ cols: 80, rows: 24, onData: () => undefined });
    await terminal.disconnect();
    let screen = '';
    const again = await pty.connect(terminal.pid, {
      onData(data) {
        screen += new TextDecoder().decode(data);
      },
    });
    await pty.sendInput(terminal.pid, bytes('echo "[$((6 * 7))]"; exit\r'));
    expect(await again.wait()).toMatchObject({ exitCode: 0 });
    expect(screen).toContain('[42]');
  });
}
