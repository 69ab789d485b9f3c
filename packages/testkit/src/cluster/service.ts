import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { imagesDir } from '../stack/images-dir.ts';
import { skerryProgram } from '../stack/skerry-program.ts';

/** A program that serves until it is ended. */
export interface Service {
  readonly pid: number;
  log(): string;
  signal(signal: NodeJS.Signals): void;
  /** Ends it and waits; the default is SIGTERM. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface SkerryOptions {
  /** A command that runs the command appended to it on a machine of the network lab. */
  through: readonly string[];
  /** Path of `skerry`. Default: that of this checkout. */
  program?: string | undefined;
  /** Arguments of Node. */
  before?: readonly string[];
  /** Called with each line of its log. */
  onLine?: (line: string) => void;
}

/** Starts `skerry` and resolves with the object that it prints when it serves. Rejects with its log when it ends instead. */
export const startSkerry = (
  argv: readonly string[],
  { through, program = skerryProgram, before = [], onLine }: SkerryOptions,
): Promise<{ service: Service; ready: object }> =>
  startProgram([...through, process.execPath, ...before, program, ...argv], onLine);

/** Starts a command that prints an object when it serves. */
export async function startProgram(
  command: readonly string[],
  onLine?: (line: string) => void,
): Promise<{ service: Service; ready: object }> {
  const [file = '', ...args] = command;
  const env = { ...process.env, SKERRY_IMAGES_DIR: imagesDir, SKERRY_BASE: 'minimal' };
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    log += `${line}\n`;
    onLine?.(line);
  });
  const exited = once(child, 'exit');
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then(() => undefined),
  ]);
  if (line === undefined) throw new Error(`${args.join(' ')} ended with ${child.exitCode}\n${log}`);
  const service: Service = {
    pid: child.pid as number,
    log: () => log,
    signal: (signal) => void child.kill(signal),
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      // The second signal ends what is in progress at once.
      if (signal === 'SIGTERM') child.kill('SIGHUP');
      await exited;
    },
  };
  return { service, ready: JSON.parse(line) as object };
}

/** Runs `skerry` to its end, and resolves with what it prints. Rejects when it exits with another status than 0. */
export async function runSkerry(args: readonly string[], through: readonly string[] = []): Promise<string> {
  const [file, ...before] = [...through, process.execPath];
  const { stdout } = await promisify(execFile)(file, [...before, skerryProgram, ...args]);
  return stdout;
}
