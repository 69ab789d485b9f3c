import type { LogEntry } from '@skerry/contract/agent-control';

/** An event for the owner of the sandbox. It holds no secrets: no variables, no contents. */
export type LogEvent = Omit<LogEntry, 'seq' | 'timestamp' | 'fields'> & Partial<Pick<LogEntry, 'fields'>>;

/** One line of JSON without its end, numbered from 1 on. */
export interface LogLine {
  seq: number;
  text: string;
}

/** The log of the sandbox: its latest lines are kept until the host has fetched them. `Log` is the log of the agent itself. */
export interface SandboxLog {
  /** Names this numbering: another agent, or another sandbox, begins a new one. */
  readonly origin: string;
  write(event: LogEvent): void;
  /** The kept lines after that number. A gap means that lines were dropped. */
  after(seq: number): readonly LogLine[];
  /** Calls `listener` after each line. There is one listener; a new one replaces it. The returned function removes it. */
  onWrite(listener: () => void): () => void;
  /** Removes all lines: the agent now belongs to another sandbox. */
  restart(): void;
}

const MAX_LINES = 1000;
const MAX_BYTES = 256 * 1024;

// Makes a name that is no secret, so Math.random is good enough: loading node:crypto would delay the start.
const createOrigin = (): string => `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

export const createSandboxLog = (): SandboxLog => {
  let origin = createOrigin();
  let lines: LogLine[] = [];
  let sizeBytes = 0;
  let lastSeq = 0;
  let listener: (() => void) | undefined;

  /** Removes half of the lines at once: removing one by one would move all the others each time. */
  const makeRoom = (): void => {
    let kept = 0;
    let from = lines.length;
    while (from > 0 && lines.length - from < MAX_LINES / 2) {
      kept += Buffer.byteLength((lines[from - 1] as LogLine).text);
      if (kept > MAX_BYTES / 2) break;
      from -= 1;
    }
    lines = lines.slice(from);
    sizeBytes = lines.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  };

  return {
    get origin() {
      return origin;
    },
    write({ level, logger, message, fields = {} }) {
      lastSeq += 1;
      const entry: LogEntry = { seq: lastSeq, timestamp: Date.now(), level, logger, message, fields };
      const text = JSON.stringify(entry);
      lines.push({ seq: lastSeq, text });
      sizeBytes += Buffer.byteLength(text);
      if (lines.length > MAX_LINES || sizeBytes > MAX_BYTES) makeRoom();
      listener?.();
    },
    after: (seq) => lines.filter((line) => line.seq > seq),
    onWrite(next) {
      listener = next;
      return () => {
        if (listener === next) listener = undefined;
      };
    },
    restart() {
      origin = createOrigin();
      lines = [];
      sizeBytes = 0;
      lastSeq = 0;
    },
  };
};
