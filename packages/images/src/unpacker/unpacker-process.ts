import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { ImageError } from '../image-error.ts';
import { findProgram, programEnvironment, toBound, toNamespaces } from '../run-program.ts';

/** What unpacking one image may take. */
export interface UnpackerLimits {
  /** Limits the heap of JavaScript, where names and attributes are. */
  heapBytes: number;
  /** Limits all memory that is written, with half a gigabyte that Node reserves. */
  dataBytes: number;
  cpuSeconds: number;
  /** How long the helper waits for it, in sum: on the disk as well. */
  waitMs: number;
}

export const defaultLimits: UnpackerLimits = {
  heapBytes: 768 * 2 ** 20,
  dataBytes: 2 * 2 ** 30,
  cpuSeconds: 15 * 60,
  waitMs: 30 * 60_000,
};

/** What it needs to write files of any owner, mode and capability, and no more: none over mounts, processes or networks. */
const capabilities = ['chown', 'dac_override', 'fowner', 'fsetid', 'setfcap'];

/** How much of its stderr an error shows, in characters. */
const SHOWN = 2_000;

/** A program in namespaces of its own, without a network, that ends with this process. */
export interface UnpackerProcess {
  /** Writes to its stdin, and waits while that is full. Resolves with false when the process has ended. */
  write(bytes: Uint8Array | string): Promise<boolean>;
  /**
   * Resolves with the next line of its stdout. When it has ended: rejects with the reason of `signal`, with `too_large` when a
   * limit was the cause, otherwise with an Error.
   */
  read(): Promise<string>;
  /** Kills it. Resolves when it has ended. */
  end(): Promise<void>;
}

/** Starts Node with a program and its arguments. Throws the reason of a signal that has aborted. */
export const startUnpackerProcess = (
  program: readonly string[],
  { limits, signal }: { limits: UnpackerLimits; signal: AbortSignal | undefined },
): UnpackerProcess => {
  signal?.throwIfAborted();
  const [file, ...args] = toCommand(program, limits);
  const child = spawn(file, args, { cwd: '/', env: programEnvironment });
  const exited = watchExit(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });

  let waitedMs = 0;
  let isLate = false;
  let isClosed = false;
  const wait = async <T>(work: Promise<T>): Promise<T> => {
    const since = performance.now();
    const timer = setTimeout(
      () => {
        isLate = true;
        kill();
      },
      Math.max(1, limits.waitMs - waitedMs),
    );
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      waitedMs += performance.now() - since;
    }
  };

  return {
    write: async (bytes) => {
      if (!child.stdin.destroyed && !child.stdin.write(bytes)) await wait(untilDrained(child.stdin));
      return !child.stdin.destroyed;
    },
    read: async () => {
      const { done, value } = await wait(lines.next());
      // A process that is being killed may still answer.
      signal?.throwIfAborted();
      if (!done) return value;
      const { how, isLimit, output } = await wait(exited);
      signal?.throwIfAborted();
      if (isClosed) throw new Error('the process that unpacks images was closed');
      if (isLate || isLimit) throw new ImageError('too_large', toLimitMessage(limits));
      throw new Error(`the process that unpacks images ended with ${how}\n${output}`);
    },
    end: async () => {
      signal?.removeEventListener('abort', kill);
      isClosed = true;
      kill();
      await exited;
    },
  };
};

const toCommand = (program: readonly string[], limits: UnpackerLimits): ReturnType<typeof toBound> =>
  toBound([
    ...toNamespaces(['mount', 'pid', 'ipc', 'net']),
    findProgram('setpriv', 'util-linux'),
    ...['--no-new-privs', `--bounding-set=-all${capabilities.map((name) => `,+${name}`).join('')}`, '--'],
    findProgram('prlimit', 'util-linux'),
    ...[`--data=${limits.dataBytes}`, `--cpu=${limits.cpuSeconds}`, '--core=0', '--'],
    // unshare does not tell by which signal its child was ended; the first process of a namespace would also ignore some.
    ...['/bin/sh', '-c', '"$@"; exit $?', 'sh'],
    ...[process.execPath, `--max-old-space-size=${limits.heapBytes / 2 ** 20}`, ...program],
  ]);

/** Resolves when it takes more, or never will: Node closes the stdin of a process that has ended. */
const untilDrained = (stdin: Writable): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = ['drain', 'close'] as const;
  for (const event of events) stdin.once(event, resolve);
  return promise.finally(() => {
    for (const event of events) stdin.off(event, resolve);
  });
};

const toLimitMessage = ({ dataBytes, cpuSeconds, waitMs }: UnpackerLimits): string =>
  `unpacking the image takes more than an image may: ${dataBytes / 2 ** 20} MiB of memory, ${cpuSeconds} s of a processor, or ${waitMs / 60_000} min`;

interface Exit {
  how: string;
  isLimit: boolean;
  /** The last of its stderr. */
  output: string;
}

const watchExit = (child: ChildProcessWithoutNullStreams): Promise<Exit> => {
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = `${output}${text}`.slice(-SHOWN);
  });
  // The end of the process is reported by its exit.
  child.stdin.on('error', () => undefined);
  const { promise, resolve } = Promise.withResolvers<Exit>();
  child.on('error', (error) => resolve({ how: error.message, isLimit: false, output }));
  child.on('close', (code, signal) =>
    // 128 and the number of a signal, which no other process sends.
    resolve({ how: signal ?? `status ${code}`, isLimit: (code ?? 0) > 128, output }),
  );
  return promise;
};
