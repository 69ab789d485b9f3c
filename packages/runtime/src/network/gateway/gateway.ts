import type { Socket } from 'node:net';
import { RuntimeError } from '../../error.ts';
import { type Program, startProgram } from '../../kernel/start-program.ts';
import { type Reply, readReplies } from './read-replies.ts';

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
   * does not do so in time, and with `internal` when it cannot. It is told again in both cases, until it does or the sandbox is removed.
   */
  set(host: string, sandbox: NamedSandbox): Promise<void>;
  /** Ends what goes through the host's address. Does nothing where there is no such sandbox. */
  remove(host: string): void;
  /** Ends the process. */
  close(): void;
}

/** A line to the process. */
interface Request {
  id: number;
  host: string;
  sandbox?: NamedSandbox | undefined;
}

const DEADLINE_MS = 10_000;
/** A process that ends this soon after its start is started again only after that time. */
const SHORT_LIFE_MS = 1_000;
/** When a sandbox that the process has refused is sent again, and the most to which that doubles. */
const RETRY_MS = { first: 100, most: 10_000 };
const HEAP_MIB = 256;

/** What the process has at its start, to read its program in the folder of another user and to leave root. It opens no port below 1024. */
const capabilities = ['dac_read_search', 'setuid', 'setgid'];

/**
 * Manages the process: the program at `path` is started when the first sandbox needs it, and again when it ends, does not answer in time or
 * answers nonsense.
 */
export const createGateway = ({
  path,
  deadlineMs = DEADLINE_MS,
}: {
  path: string;
  deadlineMs?: number;
}): Gateway => {
  const sandboxes = new Map<string, NamedSandbox>();
  const retries = new Map<string, NodeJS.Timeout>();
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
    let program: Program;
    try {
      program = startProcess(path);
    } catch (error) {
      console.error(error);
      startLater(SHORT_LIFE_MS);
      return;
    }
    running = program;
    readReplies(program.pipes[1] as Socket, {
      onReply: (reply) => waiting.get(reply.id)?.answer(reply),
      onNonsense: program.kill,
    });
    void program.ended.then(() => {
      running = undefined;
      for (const { fail } of [...waiting.values()]) fail('ended');
      startLater(performance.now() - startedAt < SHORT_LIFE_MS ? SHORT_LIFE_MS : 0);
    });
    for (const [host, sandbox] of sandboxes) void tell(host, sandbox).catch((error) => console.error(error));
  };

  const startLater = (delayMs: number): void => {
    if (isClosed) return;
    again = setTimeout(() => {
      if (sandboxes.size > 0) start();
    }, delayMs).unref();
  };

  /** Sends what a sandbox may reach, and again where the process refuses it: the one before may not have left the ports yet. */
  const tell = async (host: string, sandbox: NamedSandbox, retryMs = RETRY_MS.first): Promise<void> => {
    clearTimeout(retries.get(host));
    const error = await send(host, sandbox);
    if (error === undefined) return;
    if (sandboxes.get(host) === sandbox) {
      const retry = (): void =>
        void tell(host, sandbox, Math.min(2 * retryMs, RETRY_MS.most)).catch(() => {
          // The caller of `set` has the first failure, and each has a retry.
        });
      retries.set(host, setTimeout(retry, retryMs).unref());
    }
    throw new RuntimeError('internal', `the gateway for names cannot serve ${host}: ${error}`);
  };

  /** Resolves with why the process refuses it; rejects where it does not answer. */
  const send = (host: string, sandbox: NamedSandbox): Promise<string | undefined> =>
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
      const timer = setTimeout(() => {
        fail(`did not answer for ${deadlineMs / 1_000} s`);
        running?.kill();
      }, deadlineMs);
      waiting.set(id, { answer: ({ error }) => settle(() => resolve(error)), fail });
      if (running === undefined) fail('could not be started');
      else write({ id, host, sandbox });
    });

  return {
    set: async (host, sandbox) => {
      if (isClosed) throw new RuntimeError('unavailable', 'the gateway has ended');
      if (running === undefined) start();
      sandboxes.set(host, sandbox);
      await tell(host, sandbox);
    },
    remove: (host) => {
      clearTimeout(retries.get(host));
      retries.delete(host);
      if (!sandboxes.delete(host)) return;
      lastId += 1;
      write({ id: lastId, host });
    },
    close: () => {
      isClosed = true;
      clearTimeout(again);
      for (const retry of retries.values()) clearTimeout(retry);
      sandboxes.clear();
      running?.kill();
    },
  };
};

const startProcess = (path: string): Program => {
  const bounds = `--bounding-set=-all${capabilities.map((name) => `,+${name}`).join('')}`;
  const program = startProgram({
    file: 'setpriv',
    args: [
      ...['--no-new-privs', '--inh-caps=-all', bounds, '--'],
      ...[process.execPath, `--max-old-space-size=${HEAP_MIB}`, path],
    ],
    stdio: ['input', 'output', 2],
    ownSession: true,
  });
  program.unref();
  for (const pipe of program.pipes) pipe?.unref();
  // The end of the process is what is acted on.
  program.pipes[0]?.on('error', () => undefined);
  return program;
};
