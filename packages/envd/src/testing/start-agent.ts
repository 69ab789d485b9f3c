import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: unknown;
}

export interface HttpRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Default `http.sock`. */
  socket?: 'http.sock' | 'control.sock';
}

export interface ClientOptions {
  headers?: Record<string, string>;
  binary?: boolean;
  /** Whether to use HTTP/2 instead of HTTP/1.1. */
  http2?: boolean;
}

/** A real agent in a process and mount namespace of its own, with accounts, a home and a small disk made for it. */
export interface TestAgent {
  readonly pid: number;
  readonly socketDir: string;
  /** The TCP port, free when the agent started. */
  readonly port: number;
  /** A folder for the test, writable by every user. */
  readonly dir: string;
  /** Home of `user` (1000:1000, also in the groups 2001 and 2002). */
  readonly home: string;
  /** A tmpfs of one MiB. */
  readonly smallDisk: string;
  /** A file system of message queues (mq_overview(7)): its files have names from the start, and nothing can be written. */
  readonly queues: string;
  readonly log: () => string;
  http(request: HttpRequest): Promise<Answer>;
  /** One unary call in JSON, as the bytes go over the wire. */
  call(procedure: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  initialize(body: Record<string, unknown>): Promise<Answer>;
  processes(options?: ClientOptions): Client<typeof Process>;
  files(options?: ClientOptions): Client<typeof Filesystem>;
  /** Ends it with SIGKILL and waits; its folders stay. Idempotent, like `stop`. */
  kill(): Promise<void>;
  /** Kills it and deletes its folders. */
  stop(): Promise<void>;
}

const PACKAGE = join(import.meta.dirname, '..', '..');

/** Runs in a mount namespace of its own; the argument is the folder of the test. */
const SCRIPT = `set -e
mount --bind "$0/passwd" /etc/passwd
mount --bind "$0/group" /etc/group
mount -t tmpfs -o size=1m,mode=0777 tmpfs "$0/small"
mount -t mqueue mqueue "$0/queues"
exec "$@"`;

const waitForFile = async (dir: string, name: string, child: ChildProcess): Promise<void> => {
  const watcher = watch(dir);
  const appeared = new Promise<void>((resolve) => {
    watcher.on('change', (_type, file) => file === name && resolve());
  });
  const died = once(child, 'exit').then(() => {
    throw new Error('the agent has ended before it was ready');
  });
  await Promise.race([appeared, died]).finally(() => watcher.close());
};

const withHeaders =
  (headers: Record<string, string>): Interceptor =>
  (next) =>
  (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };

const send = (socketPath: string, request: HttpRequest): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', path, headers = {}, body } = request;
    const outgoing = httpRequest({ socketPath, method, path, headers: { host: 'sandbox', ...headers } });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const bytes = Buffer.concat(chunks);
        const isJson = response.headers['content-type'] === 'application/json';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: bytes,
          json: isJson ? JSON.parse(bytes.toString()) : undefined,
        });
      });
    });
    const write = async (): Promise<void> => {
      if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
        outgoing.end(body);
        return;
      }
      for await (const chunk of body) {
        if (!outgoing.write(chunk)) await once(outgoing, 'drain');
      }
      outgoing.end();
    };
    write().catch(reject);
  });

/** Needs root, as the agent has it inside a sandbox. */
export const startAgent = async (): Promise<TestAgent> => {
  const root = mkdtempSync(join(tmpdir(), 'envd-'));
  const socketDir = join(root, 'run');
  const home = join(root, 'home');
  const dir = join(root, 'work');
  const smallDisk = join(root, 'small');
  const queues = join(root, 'queues');
  chmodSync(root, 0o755);
  for (const path of [socketDir, home, dir, smallDisk, queues]) mkdirSync(path);
  chmodSync(dir, 0o777);
  chownSync(home, 1000, 1000);
  writeFileSync(
    join(root, 'passwd'),
    `root:x:0:0:root:${join(root, 'root-home')}:/bin/bash\nuser:x:1000:1000::${home}:/bin/bash\n`,
  );
  mkdirSync(join(root, 'root-home'));
  writeFileSync(join(root, 'group'), 'root:x:0:\nuser:x:1000:\nextra:x:2001:user\nmore:x:2002:root,user\n');

  const main = join(PACKAGE, 'src', 'main.ts');
  const child = spawn('unshare', ['-m', 'sh', '-c', SCRIPT, root, process.execPath, main], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, ENVD_SOCKET_DIR: socketDir, ENVD_PORT: '0', LD_LIBRARY_PATH: '/nowhere' },
  });
  await waitForFile(socketDir, 'control.sock', child);

  const socketPath = join(socketDir, 'http.sock');
  const transport = ({ headers = {}, binary = false, http2 = false }: ClientOptions) =>
    createConnectTransport({
      baseUrl: 'http://sandbox',
      useBinaryFormat: binary,
      interceptors: [withHeaders(headers)],
      ...(http2
        ? { httpVersion: '2', nodeOptions: { createConnection: () => connect(socketPath) } }
        : { httpVersion: '1.1', nodeOptions: { socketPath } }),
    });
  const http = (request: HttpRequest): Promise<Answer> =>
    send(join(socketDir, request.socket ?? 'http.sock'), request);

  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };

  const log = (): string => readFileSync(join(socketDir, 'envd.log'), 'utf8');
  return {
    pid: child.pid ?? 0,
    socketDir,
    port: readPort(log()),
    dir,
    home,
    smallDisk,
    queues,
    log,
    http,
    call: (procedure, body, headers = {}) =>
      http({
        method: 'POST',
        path: `/${procedure}`,
        headers: { 'content-type': 'application/json', 'connect-protocol-version': '1', ...headers },
        body: JSON.stringify(body),
      }),
    initialize: (body) =>
      http({ method: 'POST', path: '/init', socket: 'control.sock', body: JSON.stringify(body) }),
    processes: (options = {}) => createClient(Process, transport(options)),
    files: (options = {}) => createClient(Filesystem, transport(options)),
    kill,
    async stop() {
      await kill();
      rmSync(root, { recursive: true, force: true });
    },
  };
};

/** The one that an agent says in its log that it listens to. */
const readPort = (log: string): number => {
  const entries = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { message: string; port?: number });
  return entries.find(({ message }) => message === 'listening')?.port ?? Number.NaN;
};
