import type { SandboxLog } from '../sandbox-log.ts';

/** Writes what processes print to the log of the sandbox, a bounded amount of all together. */
export interface OutputLog {
  /** The part of one process. */
  of(pid: number): ProcessOutputLog;
}

export interface ProcessOutputLog {
  /** Adds output, of which each whole line becomes an entry; a carriage return ends a line too. */
  write(kind: LoggedKind, bytes: Uint8Array): void;
  /** Writes the last line, which has no end. */
  end(): void;
}

export type LoggedKind = 'stdout' | 'stderr';

/** A longer line becomes several entries. */
const MAX_LINE_LENGTH = 1_000;
/** What an entry costs besides its text. */
const LINE_BYTES = 100;
/** So much is written at once, and then so much a second: the log also has events, which output must not push out of it. */
const AT_ONCE_BYTES = 64 * 1024;
const A_SECOND_BYTES = 8 * 1024;

/** `now` is in milliseconds. */
export const createOutputLog = (
  log: Pick<SandboxLog, 'write'>,
  now: () => number = () => performance.now(),
): OutputLog => {
  let leftBytes = AT_ONCE_BYTES;
  let at = now();

  const refill = (): void => {
    leftBytes = Math.min(AT_ONCE_BYTES, leftBytes + ((now() - at) / 1_000) * A_SECOND_BYTES);
    at = now();
  };

  return {
    of: (pid) => {
      const fields = { pid: String(pid) };
      const rests: Record<LoggedKind, Rest> = { stdout: createRest(), stderr: createRest() };
      let droppedBytes = 0;

      const add = (kind: LoggedKind, message: string): void => {
        leftBytes -= message.length + LINE_BYTES;
        log.write({ level: 'info', logger: kind, message, fields });
      };
      const reportDropped = (kind: LoggedKind): void => {
        if (droppedBytes === 0) return;
        const message = `${droppedBytes} bytes of output were dropped: the log takes ${A_SECOND_BYTES} bytes a second`;
        log.write({ level: 'warn', logger: kind, message, fields });
        droppedBytes = 0;
      };

      return {
        write: (kind, bytes) => {
          refill();
          if (leftBytes <= 0) {
            droppedBytes += bytes.length;
            return;
          }
          reportDropped(kind);
          const taken = bytes.subarray(0, Math.ceil(leftBytes));
          droppedBytes += bytes.length - taken.length;
          // Many short lines cost more than their bytes.
          for (const line of rests[kind].add(taken)) {
            if (leftBytes > 0) add(kind, line);
            else droppedBytes += Buffer.byteLength(line) + 1;
          }
        },
        end: () => {
          for (const kind of ['stdout', 'stderr'] as const) {
            const last = rests[kind].end();
            if (last !== '') add(kind, last);
          }
          reportDropped('stderr');
        },
      };
    },
  };
};

/** The beginning of a line whose end has not come yet. */
interface Rest {
  /** Returns the lines that these bytes end, and parts of one that is too long. */
  add(bytes: Uint8Array): string[];
  end(): string;
}

const createRest = (): Rest => {
  const decoder = new TextDecoder();
  let rest = '';
  return {
    add: (bytes) => {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      const whole = lines.filter((line) => line !== '').flatMap(divide);
      for (; rest.length > MAX_LINE_LENGTH; rest = rest.slice(MAX_LINE_LENGTH))
        whole.push(rest.slice(0, MAX_LINE_LENGTH));
      return whole;
    },
    end: () => {
      const last = `${rest}${decoder.decode()}`.trimEnd();
      rest = '';
      return last;
    },
  };
};

const divide = (line: string): string[] =>
  line.length <= MAX_LINE_LENGTH ? [line] : (line.match(new RegExp(`.{1,${MAX_LINE_LENGTH}}`, 'gs')) ?? []);
