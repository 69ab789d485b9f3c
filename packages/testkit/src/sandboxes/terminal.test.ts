import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { Code } from '@connectrpc/connect';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

let stack: SharedStack;
let sandbox: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  const { sandboxId } = await stack.createSandbox({ timeoutSeconds: 300 });
  sandbox = await Sandbox.connect(sandboxId, stack.connection);
});
afterAll(() => stack.leave());

/** Lines as a person sees them: no colours, cursor movements and carriage returns. */
const toText = (screen: string): string => stripVTControlCharacters(screen).replaceAll('\r', '');

/** Opens a terminal and collects what it shows. */
const open = async (options: { user?: string; command?: string; cols?: number; rows?: number } = {}) => {
  const decoder = new TextDecoder();
  let changed = (): void => {};
  const session = {
    screen: '',
    async see(pattern: RegExp): Promise<string> {
      for (;;) {
        const match = pattern.exec(toText(session.screen));
        if (match) return match[1] ?? match[0];
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
  };
  onTestFailed(() => console.error(`the screen:\n${toText(session.screen)}`));
  const handle = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    ...options,
    onData(bytes) {
      session.screen += decoder.decode(bytes, { stream: true });
      changed();
    },
  });
  return Object.assign(session, { handle });
};

describe('a terminal in a sandbox', () => {
  it.each([
    ['user', '/home/user', 620],
    // The profile of root refuses messages.
    ['root', '/root', 600],
  ])('is an interactive login shell for %s, with what belongs to it', async (user, home, mode) => {
    const { handle, see } = await open({ user });
    await see(/[$#] /);
    await handle.sendInput('echo "[$(whoami) $TERM $LANG $PWD]"\r');
    await see(new RegExp(`\\n\\[${user} xterm-256color C.UTF-8 ${home}\\]\\n`));
    await handle.sendInput(
      '[ -w "$(tty)" ] && : < "$(tty)" && : < /dev/tty && stat -c "[%U %G %a]" "$(tty)"\r',
    );
    await see(new RegExp(`\\n\\[${user} tty ${mode}\\]\\n`));
    await handle.sendInput('exit 5\r');
    expect(await handle.wait()).toEqual({ exitCode: 5, error: 'exit status 5' });
  });

  it('has the size it was given, and the one it is given later', async () => {
    const session = await open({ cols: 100, rows: 30 });
    const { handle, see } = session;
    await see(/[$#] /);
    await handle.sendInput('stty size; echo $COLUMNS $LINES\r');
    await see(/\n30 100\n100 30\n/);
    await expect(handle.resize({ cols: 0, rows: 40 })).rejects.toMatchObject({ code: 'invalid_argument' });
    await handle.resize({ cols: 132, rows: 43 });
    await handle.sendInput('stty size; tput cols; tput lines\r');
    // At the prompt: before, the kernel would take the key for the shell and keep it.
    await see(/\n43 132\n132\n43\n.*\$ $/);
    await handle.sendInput('\u0004');
    expect(await handle.wait()).toEqual({ exitCode: 0 });
  });

  it('interrupts, stops and continues programs by keys', async () => {
    const { handle, see } = await open();
    await see(/[$#] /);
    // Between its fork and its exec a child of bash still has bash's handlers, and an interrupt is lost: it must run first.
    await handle.sendInput(`sh -c 'echo "[running]"; exec sleep 100'; echo "[status $?]"\r`);
    await see(/\n\[running\]/);
    await handle.sendInput('\u0003');
    await handle.sendInput('echo "[after $?]"\r');
    await see(/\n\[after 130\]/);
    await handle.sendInput(`sh -c 'echo "[in front]"; exec sleep 100'\r`);
    await see(/\n\[in front\]\n/);
    await handle.sendInput('\u001a');
    await see(/Stopped/);
    await handle.sendInput('kill %1; fg\r');
    await see(/Terminated/);
    await handle.kill();
    expect(await handle.wait()).toEqual({ exitCode: -1, error: 'signal: killed', signal: 9 });
  });

  it('draws full screens', async () => {
    const { handle, screen } = await (async () => {
      const session = await open({
        command: 'tput smcup; tput cup 10 20; printf "%s" "ä│ middle"; tput rmcup',
      });
      await session.handle.wait();
      return session;
    })();
    expect(screen).toContain('\u001b[?1049h');
    expect(screen).toContain('\u001b[11;21Hä│ middle');
    expect(screen).toContain('\u001b[?1049l');
    expect(await handle.kill()).toBe(false);
  });

  it('carries some megabytes unchanged in both directions', async () => {
    const upwards = 'x'.repeat(3_000_000);
    const session = await open({
      command: 'stty raw -echo; echo ready; head -c 3000000 | sha256sum; seq 1 400000',
    });
    await session.see(/ready/);
    await session.handle.streamInput(
      (async function* () {
        for (let at = 0; at < upwards.length; at += 50_000) yield upwards.slice(at, at + 50_000);
      })(),
    );
    expect(await session.handle.wait()).toEqual({ exitCode: 0 });
    const numbers = Array.from({ length: 400_000 }, (_, at) => `${at + 1}\n`).join('');
    const hash = createHash('sha256').update(upwards).digest('hex');
    expect(session.screen.endsWith(`${hash}  -\n${numbers}`)).toBe(true);
  });

  it('can be left and found again', async () => {
    const { handle, see } = await open();
    await see(/[$#] /);
    handle.disconnect();
    await expect(handle.wait()).rejects.toMatchObject({ code: 'canceled' });
    let screen = '';
    const again = await sandbox.pty.connect(handle.pid, {
      onData: (bytes) => {
        screen += new TextDecoder().decode(bytes);
      },
    });
    await again.sendInput('echo "[$((6 * 7))]"; exit\r');
    await again.wait();
    expect(screen).toContain('[42]');
    await expect(sandbox.pty.connect(999_999)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lets a program ask for a password, and sudo work', async () => {
    const { handle, see } = await open({
      command: 'read -s -p "secret: " s </dev/tty; echo "[$(printf %s "$s" | wc -c)]"; sudo tty',
    });
    await see(/secret: /);
    await handle.sendInput('hidden\r');
    await see(/secret: \[6\]\n\/dev\/pts\/\d+\n/);
    expect((await handle.wait()).exitCode).toBe(0);
  });

  it('answers while a hundred others are open', async () => {
    const others = await Promise.all(
      Array.from({ length: 100 }, () =>
        sandbox.pty.create({ cols: 80, rows: 24, command: 'exec sleep 100' }),
      ),
    );
    expect((await sandbox.commands.run('echo fine')).stdout).toBe('fine\n');
    await Promise.all(others.map((other) => other.kill()));
    const ends = await Promise.all(others.map((other) => other.wait()));
    expect(new Set(ends.map(({ error }) => error))).toEqual(new Set(['signal: killed']));
  });

  it('is refused when there is no room for a process, and the sandbox lives on', async () => {
    const { sandboxId, agent } = await stack.createSandbox();
    const crowded = await Sandbox.connect(sandboxId, stack.connection);
    const script = `import os, sys, time
children = []
while True:
    try: child = os.fork()
    except OSError: break
    if child == 0:
        time.sleep(1000)
        os._exit(0)
    children.append(child)
print('full', flush=True)
for line in sys.stdin:
    child = children.pop()
    os.kill(child, 9)
    os.waitpid(child, 0)
    print('room', flush=True)
`;
    await crowded.files.write('crowd.py', script);
    const crowd = await crowded.commands.run('exec python3 crowd.py', {
      background: true,
      stdin: true,
      timeoutMs: 0,
    });
    const said = crowd[Symbol.asyncIterator]();
    await said.next();
    const run = async (): Promise<string | undefined> => {
      let status: string | undefined;
      const request = { process: { cmd: 'true' }, pty: { size: { cols: 80, rows: 24 } } };
      for await (const { event } of agent.process.start(request)) {
        if (event?.event.case === 'end') status = event.event.value.status;
      }
      return status;
    };
    await expect(run()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await crowd.sendStdin('\n');
    await said.next();
    expect(await run()).toBe('exit status 0');
    expect(await crowded.isRunning()).toBe(true);
    await crowded.kill();
  });
});
