import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The longest answers during some work, in milliseconds, without the time in which the machine ran other threads instead. */
export interface LongestAnswers {
  helperMs: number;
  /** The longest one of a process that has nothing else to do. */
  idleMs: number;
}

/** Measures how long the helper of a server takes to answer, which it does from its event loop. */
export interface AnswerMeter extends AsyncDisposable {
  during<T>(work: Promise<T>): Promise<{ result: T; longest: LongestAnswers }>;
}

const PAUSE_MS = 10;

/** `folder` gets the socket of an idle process, which is asked at the same times. */
export const createAnswerMeter = async ({
  helper,
  folder,
}: {
  helper: { pid: number; socket: string };
  folder: string;
}): Promise<AnswerMeter> => {
  const idleSocket = join(folder, 'idle.sock');
  const idle = fork(new URL('idle-server.ts', import.meta.url), [idleSocket]);
  await once(idle, 'message');
  const asked = await Promise.all(
    [helper, { pid: Number(idle.pid), socket: idleSocket }].map(async ({ pid, socket }) => ({
      pid,
      session: await open(socket),
    })),
  );
  return {
    during: async (work) => {
      let isDone = false;
      const isRunning = () => !isDone;
      const asking = Promise.all(asked.map((one) => findLongest(one, isRunning)));
      // Awaited below; this marks the rejection as handled.
      asking.catch(() => undefined);
      try {
        const result = await work;
        isDone = true;
        const [helperMs = 0, idleMs = 0] = await asking;
        return { result, longest: { helperMs, idleMs } };
      } finally {
        isDone = true;
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const { session } of asked) session.destroy();
      const exited = once(idle, 'exit');
      idle.kill('SIGKILL');
      await exited;
    },
  };
};

const open = async (path: string): Promise<ClientHttp2Session> => {
  const session = connect('http://localhost', { createConnection: () => connectSocket(path) });
  await once(session, 'connect');
  return session;
};

const findLongest = async (
  { pid, session }: { pid: number; session: ClientHttp2Session },
  isRunning: () => boolean,
): Promise<number> => {
  const readWaitedMs = (): number =>
    readRunDelayMs(`/proc/${pid}/task/${pid}`) + readRunDelayMs('/proc/thread-self');
  let longestMs = 0;
  while (isRunning()) {
    const [since, waitedMs] = [performance.now(), readWaitedMs()];
    await promisify((done: (error: Error | null) => void) => session.ping(done))();
    const tookMs = performance.now() - since;
    longestMs = Math.max(longestMs, tookMs - (readWaitedMs() - waitedMs));
    await sleep(PAUSE_MS);
  }
  return longestMs;
};

/** How long a thread has waited for a processor, in sum (kernel documentation, sched-stats). */
const readRunDelayMs = (thread: string): number =>
  Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
