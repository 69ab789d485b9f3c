import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { makeWorkFolder } from './built-once.ts';
import type { Emulator } from './emulator.ts';
import { type GuestResult, openGuestChannel } from './guest-channel.ts';
import type { GuestImage } from './guest-image.ts';

/** A running guest. */
export interface Guest extends AsyncDisposable {
  readonly pid: number;
  /** What a command may take unless it is said otherwise. */
  readonly commandMs: number;
  /** Unix socket of the agent inside. */
  readonly socketPath: string;
  /** Runs a command outside of any session, as root. */
  run(argv: readonly string[], options?: { timeoutMs?: number }): Promise<GuestResult>;
  /** Runs a command as one who has logged in, in a session and with the user's manager. */
  login(
    user: string,
    argv: readonly string[],
    options?: { timeoutMs?: number; env?: Record<string, string> },
  ): Promise<GuestResult>;
  /** Boots it anew, with the same disks, and resolves when its agent runs. */
  reboot(): Promise<void>;
  /** The end of what its console showed. */
  readConsole(): string;
  /** Kills it and deletes its disks. Idempotent. */
  [Symbol.asyncDispose](): Promise<void>;
}

const BOOT_MS = 600_000;
const COMMAND_MS = 120_000;

/**
 * Boots a guest on disks of its own that lie over `image` and `extraDisks`, which stay as they are, and resolves when it takes
 * commands. Rejects, with nothing left, when it does not within 10 minutes, or as many times that as `patience` says.
 */
export async function bootGuest(options: {
  emulator: Emulator;
  image: GuestImage;
  extraDisks: readonly string[];
  cacheDir: string;
  /** Multiplies every limit of time. */
  patience: number;
}): Promise<Guest> {
  const { emulator, image, extraDisks, cacheDir, patience } = options;
  const folder = makeWorkFolder(cacheDir);
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const disks = await Promise.all(
    [image.disk, ...extraDisks].map(async (base, index) => {
      const disk = join(folder, `disk${index}.qcow2`);
      await emulator.run('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', base, disk]);
      return disk;
    }),
  );
  const [socketPath, consolePath, logPath] = ['lab.sock', 'console', 'qemu.log'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const machine = emulator.start({ image, disks, consolePath, logPath, socketPath });
  cleanup.defer(async () => {
    if (machine.exitCode !== null || machine.signalCode !== null) return;
    const gone = once(machine, 'exit');
    machine.kill('SIGKILL');
    await gone;
  });
  const readConsole = (): string => stripVTControlCharacters(readFileSync(consolePath, 'utf8')).slice(-3_000);
  const ended = once(machine, 'exit').then(() => {
    throw new Error(`QEMU ended\n${readFileSync(logPath, 'utf8').slice(-2_000)}`);
  });
  ended.catch(() => undefined); // At the end it is killed.
  const booting = { signal: AbortSignal.timeout(BOOT_MS * patience) };
  const channel = await Promise.race([openGuestChannel(socketPath, booting), ended]);
  cleanup.defer(() => channel.close());
  await channel.untilBooted(booting).catch((error: unknown) => {
    throw new Error(`the guest did not start its agent\n${readConsole()}`, { cause: error });
  });

  const whole = cleanup.move();
  return {
    pid: machine.pid as number,
    commandMs: COMMAND_MS * patience,
    socketPath,
    readConsole,
    run: (argv, { timeoutMs = COMMAND_MS * patience } = {}) => channel.run(argv, { timeoutMs }),
    login: (user, argv, { timeoutMs = COMMAND_MS * patience, env = {} } = {}) =>
      channel.run([...toLogin(user, { timeoutMs, env }), ...argv], { timeoutMs: timeoutMs + 15_000 }),
    async reboot() {
      // The answer may be lost with the agent.
      await channel.run(['systemctl', 'reboot'], { timeoutMs: 30_000 }).catch(() => undefined);
      await channel.untilBooted({ signal: AbortSignal.timeout(BOOT_MS * patience) });
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** A service that logs in: its process is moved into a session of the user, whose manager is started. */
const toLogin = (
  user: string,
  { timeoutMs, env }: { timeoutMs: number; env: Record<string, string> },
): string[] => [
  ...['systemd-run', '--quiet', '--pipe', '--wait', '--collect'],
  ...['-p', 'PAMName=login', '-p', `User=${user}`, '-p', 'WorkingDirectory=~'],
  ...['-p', `RuntimeMaxSec=${Math.ceil(timeoutMs / 1000)}`, '-p', 'TimeoutStopSec=5'],
  ...Object.entries(env).map(([name, value]) => `--setenv=${name}=${value}`),
  '--',
];
