import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { RuntimeError } from '../../error.ts';
import { type Program, startProgram } from '../../kernel/start-program.ts';

/** What a sandbox may reach by name. */
export interface NamedSandbox {
  /** The address of the sandbox. */
  guest: string;
  names: readonly string[];
  /** The name servers that the gateway asks. */
  resolvers: readonly string[];
  /** Addresses and ranges that are closed beside those that are closed on each host. */
  closedAddresses: readonly string[];
}

/** The process through which sandboxes with rules by name go out. It runs while there is such a sandbox. */
export interface Gateway {
  /**
   * Sets what the sandbox behind the host's address may reach, and resolves when that holds. Rejects with `unavailable` when the process
   * does not do so in time; it is then told again when it starts anew.
   */
  set(host: string, sandbox: NamedSandbox): Promise<void>;
  /** Ends what goes through the host's address. Does nothing where there is no such sandbox. */
  remove(host: string): void;
  /** Ends the process. */
  close(): void;
}

/** A line to the process, and the line that answers it. */
interface Request {
  id: number;
  host: string;
  sandbox?: NamedSandbox | undefined;
}
interface Reply {
  id: number;
  error?: string;
}

const DEADLINE_MS = 10_000;
/** A process that ends this soon after its start is started again only after that time. */
const SHORT_LIFE_MS = 1_000;
const HEAP_MIB = 256;

/** Manages the process: the program at `path` is started when the first sandbox needs it, and again when it ends. */
export const createGateway = ({ path }: { path: string }): Gateway => {
  const sandboxes = new Map<string, NamedSandbox>();
  const waiting = new Map<number, { answer(reply: Reply): void; fail(reason: string): void }>();
  let running: Program | undefined;
  let again: NodeJS.Timeout | undefined;
  let lastId = 0;
  let isClosed = false;

  const write = (request: Request): void => {
    running?.pipes[0]?.write(`${JSON.stringify(request)}\n`);
  };

  const start = (): void => {
    clearTimeout(again);
    const startedAt = performance.now();
    const program = startProgram({
      file: 'setpriv',
      // The program may lie in the folder of another user; it opens no port below 1024.
      args: [
        ...['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all,+dac_read_search', '--'],
        ...[process.execPath, `--max-old-space-size=${HEAP_MIB}`, path],
      ],
      stdio: ['input', 'output', 2],
      ownSession: true,
    });
    running = program;
    program.unref();
    const [input, output] = program.pipes as readonly [Socket, Socket];
    for (const pipe of program.pipes) pipe?.unref();
    // The end of the process is what is acted on.
    input.on('error', () => undefined);
    createInterface({ input: output }).on('line', (line) => {
      const reply = JSON.parse(line) as Reply;
      waiting.get(reply.id)?.answer(reply);
    });
    void program.ended.then(() => {
      running = undefined;
      for (const { fail } of [...waiting.values()]) fail('ended');
      const livedMs = performance.now() - startedAt;
      if (sandboxes.size > 0) again = setTimeout(start, livedMs < SHORT_LIFE_MS ? SHORT_LIFE_MS : 0);
    });
    for (const [host, sandbox] of sandboxes) void send(host, sandbox).catch((error) => console.error(error));
  };

  const send = (host: string, sandbox: NamedSandbox): Promise<void> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      const id = lastId;
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        waiting.delete(id);
        act();
      };
      const fail = (what: string): void =>
        settle(() =>
          reject(new RuntimeError('unavailable', `the gateway for names ${what}; it is started again`)),
        );
      const answer = ({ error }: Reply): void =>
        settle(() =>
          error === undefined
            ? resolve()
            : reject(new RuntimeError('internal', `the gateway for names cannot serve ${host}: ${error}`)),
        );
      const timer = setTimeout(() => fail(`did not answer for ${DEADLINE_MS / 1_000} s`), DEADLINE_MS);
      waiting.set(id, { answer, fail });
      write({ id, host, sandbox });
    });

  return {
    set: async (host, sandbox) => {
      if (isClosed) throw new RuntimeError('unavailable', 'the gateway has ended');
      if (running === undefined) start();
      sandboxes.set(host, sandbox);
      await send(host, sandbox);
    },
    remove: (host) => {
      if (!sandboxes.delete(host)) return;
      lastId += 1;
      write({ id: lastId, host });
    },
    close: () => {
      isClosed = true;
      clearTimeout(again);
      sandboxes.clear();
      running?.kill();
    },
  };
};
