import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { imagesDir } from './images-dir.ts';
import { skerryProgram } from './skerry-program.ts';
import { createStackClient, type StackAddress, type StackClient } from './stack-client.ts';
import { refuseUndeclared } from './undeclared.ts';

const answerCheck = new URL('./check-answers.ts', import.meta.url).href;
const _workspace = fileURLToPath(new URL('../../../..', import.meta.url));

export interface StackOptions {
  /** Default: a new folder, which `down` deletes. */
  dataDir?: string;
  /** Path of the `skerry` program. Default: that of this checkout. */
  program?: string;
  /** Added to `skerry up`. */
  args?: readonly string[];
  /** A command that runs the command appended to it as another user or in other namespaces. */
  through?: readonly string[];
  /** Default: true. A server whose answers are checked is slower. */
  checksAnswers?: boolean;
}

/** A running skerry, in a process of its own, over one data folder. */
export interface Stack extends StackClient, AsyncDisposable {
  /** Where its base image is. */
  readonly imagesDir: string;
  readonly pid: number;
  /** What the server has logged so far. */
  readonly log: () => string;
  /** Sends a signal to the server, and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the status with which the server exits; null when a signal ended it. */
  ended(): Promise<number | null>;
  /** Ends the server with two signals, of which the second ends what is in progress, and waits. Sandboxes run on. Rejects when it does not exit with 0. */
  stop(): Promise<void>;
  /** Ends the server with SIGKILL and waits. */
  kill(): Promise<void>;
  /**
   * `skerry down`, then deletes the data folder if this stack made it. Idempotent. Rejects when the server has sent an answer
   * that the document does not declare.
   */
  down(): Promise<void>;
}

/**
 * Starts the real program and resolves when it serves. Base images come from `SKERRY_IMAGES_DIR`, else from `.skerry/images`
 * of the checkout, where they are made at the first start. Rejects with what the program wrote when it ends instead.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const program = options.program ?? skerryProgram;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'skerry-stack-'));
  // Few tests need what the other base image has, and it takes a minute more to make.
  const env = { ...process.env, SKERRY_IMAGES_DIR: imagesDir, SKERRY_BASE: 'minimal' };
  // Another user cannot read this checkout.
  const checksAnswers = options.through === undefined && options.checksAnswers !== false;
  const checked = checksAnswers ? ['--import', answerCheck] : [];
  const args = [...checked, program, 'up', '--host', '127.0.0.1', '--port', '0', '--data', dataDir, '--json'];
  const [file, ...before] = [...(options.through ?? []), process.execPath];
  const child = spawn(file, [...before, ...args, ...(options.args ?? [])], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    once(child, 'exit').then(() => undefined),
  ]);
  if (line === undefined) {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true });
    throw new Error(`skerry up ended with ${child.exitCode ?? child.signalCode}\n${log}`);
  }

  // What is missing from the start explains tests that fail later.
  if (log.includes('"level":"warn"')) console.error(log);
  const address = JSON.parse(line) as StackAddress;
  const down = async (): Promise<void> => {
    // Someone may have taken it down and deleted the folder.
    if (existsSync(dataDir)) {
      await promisify(execFile)(file, [...before, program, 'down', '--data', dataDir], { env });
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true });
    }
    await untilGone(child);
    refuseUndeclared(log);
  };
  return {
    ...createStackClient({ address, dataDir, readLog: async () => log }),
    imagesDir,
    pid: child.pid as number,
    log: () => log,
    signal: (signal) => void child.kill(signal),
    async ended() {
      await untilGone(child);
      return child.exitCode;
    },
    async stop() {
      child.kill('SIGTERM');
      child.kill('SIGHUP');
      await untilGone(child);
      if (child.exitCode !== 0) throw new Error(`skerry up ended with ${child.exitCode}\n${log}`);
    },
    async kill() {
      child.kill('SIGKILL');
      await untilGone(child);
    },
    down,
    [Symbol.asyncDispose]: down,
  };
}

async function untilGone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
