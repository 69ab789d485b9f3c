import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { createPlatformClient, type PlatformClient } from '@skerry/platform-client';
import { Sandbox, type SandboxCreateOptions } from '@skerry/sdk';

const workspaceRoot = join(import.meta.dirname, '../../..');

export interface StackAddress {
  apiUrl: string;
  sandboxUrl: string;
  domain: string;
  apiKey: string;
}

export interface StackOptions {
  /** A new temporary folder when absent; then `down` also removes it. */
  dataDir?: string;
  /** Entry of the command: that of this checkout when absent. */
  program?: string;
  /** Further arguments of `skerry up`. */
  args?: string[];
}

/** The real service, as a process of its own, and clients of it. */
export interface Stack extends AsyncDisposable {
  readonly address: StackAddress;
  readonly dataDir: string;
  readonly pid: number;
  readonly platform: PlatformClient;
  createSandbox(options?: SandboxCreateOptions): Promise<Sandbox>;
  /** A client of the agent in a sandbox, through the edge. */
  envd(sandbox: { sandboxId: string; accessToken?: string | undefined }): EnvdClient;
  /** SIGTERM: serving ends, sandboxes live on. */
  stop(): Promise<void>;
  /** SIGKILL: nothing can be put in order. */
  kill(): Promise<void>;
  /** `skerry down`, and the folder removed when the stack made it. */
  down(): Promise<void>;
}

/** Where base images are kept for every stack of this checkout, so that they are made once. */
const imagesDir = process.env.SKERRY_IMAGES_DIR ?? join(workspaceRoot, '.skerry/images');

/** Starts `skerry up` on a free port of 127.0.0.1; resolves when it is ready to serve. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const program = options.program ?? join(workspaceRoot, 'packages/cli/src/main.ts');
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'skerry-stack-'));
  const flags = ['--port', '0', '--data', dataDir, '--images', imagesDir, '--json', ...(options.args ?? [])];
  const server = spawn(process.execPath, [program, 'up', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = keepTail(server);
  const exited = once(server, 'exit');
  const address = JSON.parse(await firstLine(server, exited, log)) as StackAddress;

  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    server.kill(signal);
    await exited;
  };
  const down = async (): Promise<void> => {
    await runProgram(program, ['down', '--data', dataDir]);
    await exited;
    if (!options.dataDir) rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    address,
    dataDir,
    pid: server.pid ?? 0,
    platform: createPlatformClient({ baseUrl: address.apiUrl, apiKey: address.apiKey }),
    createSandbox: (create = {}) => Sandbox.create({ ...address, timeoutMs: 120_000, ...create }),
    envd: ({ sandboxId, accessToken }) =>
      createEnvdClient({
        baseUrl: address.sandboxUrl,
        headers: { 'E2b-Sandbox-Id': sandboxId, 'E2b-Sandbox-Port': '49983' },
        ...(accessToken ? { accessToken } : {}),
      }),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    down,
    [Symbol.asyncDispose]: down,
  };
}

/** Runs the command of this checkout, or another one, to its end and returns what it printed; throws when it fails. */
export async function runProgram(program: string, argv: string[], input?: string): Promise<string> {
  const child = spawn(process.execPath, [program, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  let complained = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complained += text;
  });
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}\n${complained}`);
  return printed;
}

async function firstLine(server: ChildProcess, exited: Promise<unknown>, log: () => string): Promise<string> {
  if (!server.stdout) throw new Error('the server has no stdout');
  const line = once(createInterface({ input: server.stdout }), 'line').then(([text]) => text as string);
  const ended = exited.then(() => Promise.reject(new Error(`skerry ended before it was ready\n${log()}`)));
  ended.catch(() => undefined); // Later it ends because it is told to.
  return await Promise.race([line, ended]);
}

/** Collects the last part of what the server logs, for the message of a failure. */
function keepTail(server: ChildProcess): () => string {
  let tail = '';
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-20_000);
  });
  return () => tail;
}
