import { createReadStream, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Filesystem } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';
import { replaceEdge } from '@skerry/testkit';
import type { BenchmarkContext } from '../harness/benchmark.ts';

/** The address of a server without a proxy. */
export interface Endpoint {
  socketPath: string;
  headers: Record<string, string>;
}

export interface RpcClient {
  process: Client<typeof Process>;
  filesystem: Client<typeof Filesystem>;
}

export interface BenchSandbox extends Endpoint {
  sandboxId: string;
  client: RpcClient;
  /** Runs a shell command as root in the sandbox; rejects when it fails. */
  run(script: string): Promise<void>;
}

/** The Connect client of a server behind a unix socket, over kept connections. */
export function createRpcClient(
  { socketPath, headers }: Endpoint,
  { codec }: { codec: 'json' | 'binary' },
): RpcClient {
  const transport = createConnectTransport({
    baseUrl: 'http://sandbox',
    httpVersion: '1.1',
    useBinaryFormat: codec === 'binary',
    nodeOptions: { socketPath, agent: new Agent({ keepAlive: true }) },
    acceptCompression: [],
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return { process: createClient(Process, transport), filesystem: createClient(Filesystem, transport) };
}

/** A sandbox whose agent is called on its own socket, in place of the edge. It is killed with the resources. */
export async function startBenchSandbox({
  stack,
  resources,
}: Pick<BenchmarkContext, 'stack' | 'resources'>): Promise<BenchSandbox> {
  const sandbox = await stack.createBareSandbox();
  resources.defer(() => sandbox.kill());
  const { sandboxId } = sandbox;
  const endpoint: Endpoint = {
    socketPath: stack.guestPath(sandboxId, 'http.sock'),
    headers: await replaceEdge(stack.guestPath(sandboxId, 'control.sock')),
  };
  const asRoot = { ...endpoint, headers: { ...endpoint.headers, Authorization: `Basic ${btoa('root:')}` } };
  const root = createRpcClient(asRoot, { codec: 'binary' });
  return {
    ...endpoint,
    sandboxId,
    client: createRpcClient(endpoint, { codec: 'binary' }),
    async run(script) {
      const program = { process: { cmd: '/bin/bash', args: ['-c', script] }, stdin: false };
      let output = '';
      for await (const { event } of root.process.start(program)) {
        if (event?.event.case === 'data') output += Buffer.from(event.event.value.output.value ?? []);
        if (event?.event.case === 'end' && event.event.value.exitCode === 0) return;
      }
      throw new Error(`${script} failed: ${output}`);
    },
  };
}

/** POST /files of a file on the host, or of a text. */
export async function writeFile(
  { socketPath, headers }: Endpoint,
  { path, ...source }: { path: string } & ({ file: string } | { content: string }),
): Promise<void> {
  const length = 'file' in source ? statSync(source.file).size : Buffer.byteLength(source.content);
  const outgoing = request({
    socketPath,
    method: 'POST',
    path: `/files?path=${encodeURIComponent(path)}`,
    headers: { ...headers, 'Content-Type': 'application/octet-stream', 'Content-Length': length },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    outgoing.once('response', (response) => resolve(response.resume().statusCode)).once('error', reject);
  });
  const body = 'file' in source ? createReadStream(source.file) : Readable.from([source.content]);
  const [status] = await Promise.all([answered, pipeline(body, outgoing)]);
  if (status !== 200) throw new Error(`writing ${path} was answered with ${status}`);
}
