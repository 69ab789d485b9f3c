import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch } from 'node:os';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { libc } from '../../../../kernel/native.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';

/** A file beside the images of CRIU, so that it is hashed, shared and copied as they are. */
const FILE = 'thread-settings.img';

/**
 * Writes down the processors that frozen threads may use, their priorities of input and output, and the slack of their
 * timers, where they are not those of the first process, or of every new one: CRIU restores none of them.
 */
export const writeThreadSettings = async (
  imagesDir: string,
  { first, pids }: { first: number; pids: readonly number[] },
): Promise<void> => {
  const lines: string[] = [];
  const usual = readThread(first, String(first))?.processors;
  for await (const { host, inside, processors } of visitThreads(pids)) {
    const priority = getPriority(SYS_IOPRIO_GET, IOPRIO_WHO_PROCESS, host) as number;
    const slack = readIfPresent(() => readFileSync(`/proc/${host}/timerslack_ns`, 'utf8').trim());
    const settings = [
      processors === usual ? '-' : processors,
      priority > 0 ? priority : '-',
      slack === undefined || slack === USUAL_SLACK_NS ? '-' : slack,
    ];
    if (settings.some((setting) => setting !== '-')) lines.push(`${inside} ${settings.join(' ')}\n`);
  }
  if (lines.length > 0) writeFileSync(`${imagesDir}/${FILE}`, lines.join(''), { mode: 0o600 });
};

/** Restores them for the frozen threads of a restored sandbox, as far as this host can. */
export const restoreThreadSettings = async (imagesDir: string, pids: readonly number[]): Promise<void> => {
  const text = readIfPresent(() => readFileSync(`${imagesDir}/${FILE}`, 'latin1'));
  if (text === undefined) return;
  const kept = new Map(
    [...text.matchAll(/^(\d+) ([\da-f,]+|-) (\d+|-) (\d+|-)$/gm)].map(([, inside, ...rest]) => [
      inside,
      rest,
    ]),
  );
  for await (const { host, inside } of visitThreads(pids)) {
    const [processors = '-', priority = '-', slack = '-'] = kept.get(inside) ?? [];
    if (processors !== '-') {
      const mask = toMask(processors);
      // Refused where this host has none of them: all may be used then.
      setProcessors(host, mask.length, mask);
    }
    if (priority !== '-') setPriority(SYS_IOPRIO_SET, IOPRIO_WHO_PROCESS, host, Number(priority));
    if (slack !== '-') readIfPresent(() => writeFileSync(`/proc/${host}/timerslack_ns`, slack));
  }
};

interface Thread {
  /** The thread's number on the host. */
  host: number;
  /** The thread's number in the sandbox. */
  inside: string;
  /** The processors that it may use: proc_pid_status(5), Cpus_allowed. */
  processors: string;
}

async function* visitThreads(pids: readonly number[]): AsyncGenerator<Thread> {
  const yielder = createYielder();
  for (const pid of pids) {
    for (const name of readIfPresent(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      const thread = readThread(pid, name);
      if (thread !== undefined) yield thread;
      await yielder();
    }
  }
}

const readThread = (pid: number, name: string): Thread | undefined => {
  const status = readIfPresent(() => readFileSync(`/proc/${pid}/task/${name}/status`, 'latin1')) ?? '';
  const inside = /^NSpid:.*\s(\d+)$/m.exec(status)?.[1];
  const processors = /^Cpus_allowed:\s+(\S+)$/m.exec(status)?.[1];
  if (inside === undefined || processors === undefined) return undefined;
  return { host: Number(name), inside, processors };
};

/** Converts groups of 32 bits in hex, the highest first, to bytes, the lowest first. */
const toMask = (processors: string): Buffer => {
  const digits = processors
    .split(',')
    .map((group) => group.padStart(8, '0'))
    .join('');
  return Buffer.from(digits.padStart(Math.ceil(digits.length / 16) * 16, '0'), 'hex').reverse();
};

/** linux/init_task.h: what a thread has unless it, or its parent, has set another. */
const USUAL_SLACK_NS = '50000';

const setProcessors = libc.func('int sched_setaffinity(int, size_t, const void *)');
const getPriority = libc.func('long syscall(long, int, int)');
const setPriority = libc.func('long syscall(long, int, int, int)');
// asm/unistd.h and linux/ioprio.h
const [SYS_IOPRIO_SET, SYS_IOPRIO_GET] = arch() === 'arm64' ? [30, 31] : [251, 252];
const IOPRIO_WHO_PROCESS = 1;
