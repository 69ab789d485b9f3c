import type { Sandbox } from '@skerry/sdk';

/** What code in a sandbox answers in place of the agent. */
export interface ForgedAnswer {
  /** The beginning of the method and the URL of the requests that are answered so. */
  to: string;
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Sends the body over and over. */
  endless?: boolean;
}

/** Part of the agent's process, into which root of a sandbox can load code, as into every process. */
const forge = (answers: readonly ForgedAnswer[]): string => `(() => {
  const { EventEmitter } = process.getBuiltinModule('node:events');
  const { emit } = EventEmitter.prototype;
  EventEmitter.prototype.emit = function (event, request, response, ...rest) {
    const forged = event === 'request' &&
      ${JSON.stringify(answers)}.find(({ to }) => (request.method + ' ' + request.url).startsWith(to));
    if (!forged) return emit.call(this, event, request, response, ...rest);
    const { status = 200, headers = {}, body = '', endless } = forged;
    request.resume();
    response.writeHead(status, headers);
    if (!endless) return void response.end(body);
    const more = () => {
      while (response.write(body));
      response.once('drain', more);
    };
    more();
  };
})()`;

/** A debugger of the process that has started it. */
const toDebugger = (expression: string): string => `
process.kill(process.ppid, 'SIGUSR1');
const find = async () => (await (await fetch('http://127.0.0.1:9229/json')).json())[0].webSocketDebuggerUrl;
let url;
while (url === undefined) url = await find().catch(() => new Promise((resolve) => setTimeout(resolve, 50)));
const socket = new WebSocket(url);
await new Promise((resolve) => socket.addEventListener('open', resolve));
const answered = new Promise((resolve) => socket.addEventListener('message', ({ data }) => resolve(JSON.parse(data))));
const params = { expression: ${JSON.stringify(expression)} };
socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }));
const { result } = await answered;
if (result.exceptionDetails) throw new Error(JSON.stringify(result));
process.exit();
`;

/** Makes a sandbox hostile: from now on it gives these answers where the agent would answer. */
export async function impersonateAgent(sandbox: Sandbox, answers: readonly ForgedAnswer[]): Promise<void> {
  await sandbox.files.write('/tmp/impostor.mjs', toDebugger(forge(answers)), { user: 'root' });
  await sandbox.commands.run('exec /.envd/node /tmp/impostor.mjs', { user: 'root' });
}

/** The answer to a question about a path: a file of that name. */
export const forgeEntry = (path: string, type: 'FILE' | 'DIRECTORY' = 'FILE'): ForgedAnswer => ({
  to: 'POST /filesystem.Filesystem/Stat',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    entry: {
      name: path.slice(path.lastIndexOf('/') + 1),
      path,
      type: `FILE_TYPE_${type}`,
      size: '4',
      mode: 0o4755,
      permissions: '-rwsr-xr-x',
      owner: 'root',
      group: 'root',
    },
  }),
});
