import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { type OwnNetwork, SERVER, startInOwnNetwork } from './own-network.ts';

/** A machine beside the server in its network, and the addresses at which it answers on port 80. */
export const addresses = {
  /** Public, and reached through a gateway: the internet. */
  internet: '1.2.3.4',
  /** Public, in the network of a link of the server. */
  neighbour: '5.6.7.2',
  /** Public, behind a link of the server by a route without a gateway. */
  onLink: '5.9.9.9',
  /** The server itself, in a network that has a public address. */
  server: '5.6.7.1',
} as const;

const OUTSIDE = 'outside';

/** What a sandbox reaches, and what its server reaches, of addresses that no other test has. */
export interface OutsideLab extends AsyncDisposable {
  readonly network: OwnNetwork;
  /** Runs a command on the machine of the server. */
  onServer(...command: string[]): string;
  /** Starts a Python program on the other machine, and resolves with its output when that has begun. */
  startOutside(program: string): Promise<Readable>;
}

const answer = `
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(204); self.end_headers()
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("0.0.0.0", 80), Handler)
print("up", flush=True)
server.serve_forever()
`;

/**
 * Starts a server of the level beside a machine that has `addresses` and `more`, and answers there, as does the machine of the server. `through` is put
 * before the command of the server.
 */
export const startOutsideLab = async (
  level: IsolationLevel,
  { through = [], more = [] }: { through?: readonly string[]; more?: readonly string[] } = {},
): Promise<OutsideLab> => {
  await using cleanup = new AsyncDisposableStack();
  const children: ChildProcess[] = [];
  cleanup.defer(async () => {
    for (const child of children.filter(({ exitCode }) => exitCode === null)) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  });
  const network = await startInOwnNetwork({
    machines: [OUTSIDE],
    args: ['--isolation', level],
    through,
    prepare: (lab) => {
      const run = (name: string, ...command: string[]): void => {
        const [file = '', ...before] = lab.host(name).through;
        execFileSync(file, [...before, ...command]);
      };
      const gateway = lab.host(OUTSIDE).address;
      run(SERVER, 'ip', 'address', 'add', `${addresses.server}/24`, 'dev', 'eth0');
      run(SERVER, 'ip', 'route', 'add', `${addresses.onLink}/32`, 'dev', 'eth0');
      run(SERVER, 'ip', 'route', 'add', 'default', 'via', gateway);
      run(OUTSIDE, 'ip', 'address', 'add', `${addresses.neighbour}/24`, 'dev', 'eth0');
      for (const address of [addresses.internet, addresses.onLink, ...more])
        run(OUTSIDE, 'ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
    },
  });
  cleanup.use(network);
  const { lab } = network;
  const start = async (name: string, program: string): Promise<Readable> => {
    const [file = '', ...before] = lab.host(name).through;
    const child = spawn(file, [...before, 'python3', '-c', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'readable');
    return child.stdout;
  };
  for (const name of [SERVER, OUTSIDE]) await start(name, answer);
  const running = cleanup.move();
  return {
    network,
    startOutside: (program) => start(OUTSIDE, program),
    onServer: (...command) => {
      const [file = '', ...before] = lab.host(SERVER).through;
      return execFileSync(file, [...before, ...command], { encoding: 'utf8' });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};
