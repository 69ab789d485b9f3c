import { envelope } from '../agent-rules/envelopes.ts';
import { type StackAddress, type StackSandbox, toRouting } from '../stack/stack-client.ts';

/** One request as bytes, and what the connection carries before it. */
export interface RawRequest {
  readonly name: string;
  /** A whole request that is answered first, over the same connection. */
  readonly before?: Buffer;
  readonly head: Buffer;
  readonly body: Buffer;
}

const BODY_BYTES = 2_000_000;

const script = (text: string) => ({ process: { cmd: '/bin/sh', args: ['-c', text] }, stdin: false });

const chunked = (parts: readonly Buffer[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  );

const multipart = (path: string, content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--cut\r\nContent-Disposition: form-data; name="file"; filename="${path}"\r\n\r\n`),
    content,
    Buffer.from('\r\n--cut--\r\n'),
  ]);

/** Each kind of call that a client of the agent makes, addressed to the sandbox. `pid` is that of a process that goes on. */
export const createRequests = (address: StackAddress, sandbox: StackSandbox, pid: number): RawRequest[] => {
  const { host } = new URL(address.sandboxUrl);
  const toHead = (line: string, headers: Record<string, string>): Buffer => {
    const all = {
      Host: host,
      ...toRouting(sandbox.sandboxId),
      'X-Access-Token': sandbox.accessToken,
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    return Buffer.from([`${line} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  };
  const get = (name: string, path: string): RawRequest => ({
    name,
    head: toHead(`GET ${path}`, {}),
    body: Buffer.alloc(0),
  });
  const post = (name: string, path: string, type: string, body: Buffer): RawRequest => ({
    name,
    head: toHead(`POST ${path}`, {
      'Content-Type': type,
      'Connect-Protocol-Version': '1',
      'Content-Length': String(body.length),
    }),
    body,
  });
  const stream = (name: string, procedure: string, message: unknown): RawRequest =>
    post(name, `/${procedure}`, 'application/connect+json', envelope(message));
  const unary = (name: string, procedure: string, message: unknown): RawRequest =>
    post(name, `/${procedure}`, 'application/json', Buffer.from(JSON.stringify(message)));

  const start = stream('Start', 'process.Process/Start', script('head -c 5000000 /dev/zero'));
  const input = envelope({ data: { input: { stdin: Buffer.alloc(20_000, 'x').toString('base64') } } });
  const list = unary('List', 'process.Process/List', {});
  return [
    start,
    stream('Start of a silent process', 'process.Process/Start', script('sleep 0.3')),
    stream('Start that may come back', 'process.Process/Start', {
      ...script('head -c 3000000 /dev/zero'),
      skerryHoldMs: 500,
    }),
    stream('Start of a terminal', 'process.Process/Start', {
      ...script('seq 20000'),
      pty: { size: { cols: 80, rows: 24 } },
    }),
    stream('Connect', 'process.Process/Connect', { process: { pid }, skerryOffset: '0' }),
    {
      name: 'StreamInput',
      head: toHead('POST /process.Process/StreamInput', {
        'Content-Type': 'application/connect+json',
        'Connect-Protocol-Version': '1',
        'Transfer-Encoding': 'chunked',
      }),
      body: chunked([envelope({ start: { process: { pid } } }), input, input, input]),
    },
    stream('WatchDir', 'filesystem.Filesystem/WatchDir', { path: '/tmp', recursive: true }),
    unary('ListDir', 'filesystem.Filesystem/ListDir', { path: '/usr', depth: 3 }),
    list,
    post('an upload', '/files?path=/tmp/cut/raw', 'application/octet-stream', Buffer.alloc(BODY_BYTES, 'x')),
    post(
      'a form',
      '/files',
      'multipart/form-data; boundary=cut',
      multipart('/tmp/cut/form', Buffer.alloc(BODY_BYTES, 'y')),
    ),
    get('a download', '/files?path=/tmp/big'),
    get('health', '/health'),
    { ...start, name: 'Start on a kept connection', before: Buffer.concat([list.head, list.body]) },
  ];
};
