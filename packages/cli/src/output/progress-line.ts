import { toPrintable } from '@skerry/contract/printable';

/** A stream on which progress is shown, such as stderr. */
export interface ProgressStream {
  isTTY?: boolean;
  /** The width of the terminal; absent where it is not known. */
  columns?: number;
  write(text: string): unknown;
}

export interface StartProgress {
  message: string;
  /** The done part of the whole work, 0 to 1; absent while it is unknown. */
  fraction?: number;
}

/** Shows the steps of a start, printable. On a terminal the step in progress has a line with its part of the work and its time. */
export interface ProgressLine extends Disposable {
  show(progress: StartProgress): void;
  /** Writes a line of others without mixing it with that line. */
  writeLine(line: string): void;
  /** Writes a line of the step in progress below its message, where the time of the step then follows the last line. */
  writeBelow(line: string): void;
}

const ERASE_LINE = '\r\u001b[K';

/**
 * `now` is in milliseconds. On another stream than a terminal each message is a line after the time since the first, and
 * nothing is repeated. A step in progress is cut to the width of the terminal, since a line that breaks cannot be drawn again; when
 * it ends, its whole line is there.
 */
export function createProgressLine(
  stream: ProgressStream = process.stderr,
  now: () => number = Date.now,
): ProgressLine {
  let step: (StartProgress & { startedAt: number }) | undefined;
  let firstAt: number | undefined;
  let last: string | undefined;
  let isCut = false;
  /** Whether the message of the step is above, and only its time is drawn. */
  let isAbove = false;
  const draw = (columns = Number.POSITIVE_INFINITY): void => {
    if (step === undefined) return;
    const part = step.fraction === undefined ? '' : `${Math.round(step.fraction * 100)} %, `;
    const rest = ` (${part}${Math.round((now() - step.startedAt) / 1000)} s)`;
    const whole = isAbove ? ' ' : step.message;
    const message = cut(whole, columns - rest.length - 1);
    isCut = message !== whole;
    stream.write(`${ERASE_LINE}${message}${rest}`);
  };
  const drawInWidth = (): void => draw(stream.columns || undefined);
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    if (isCut) draw();
    if (step !== undefined) stream.write('\n');
    step = undefined;
    isAbove = false;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    show({ message: unsafe, fraction }) {
      const message = toPrintable(unsafe);
      if (!stream.isTTY) {
        firstAt ??= now();
        if (message !== last) stream.write(`[${Math.round((now() - firstAt) / 1000)} s] ${message}\n`);
        last = message;
        return;
      }
      const startedAt = step?.message === message ? step.startedAt : now();
      if (step !== undefined && step.message !== message) end();
      step = { message, startedAt, ...(fraction === undefined ? {} : { fraction }) };
      drawInWidth();
      timer ??= setInterval(drawInWidth, 1000).unref();
    },
    writeLine(line) {
      if (step !== undefined) stream.write(ERASE_LINE);
      stream.write(`${toPrintable(line)}\n`);
      drawInWidth();
    },
    writeBelow(line) {
      if (step !== undefined && !isAbove) stream.write(`${ERASE_LINE}${step.message}\n`);
      isAbove = step !== undefined;
      this.writeLine(line);
    },
    [Symbol.dispose]: end,
  };
}

const cut = (message: string, length: number): string =>
  message.length <= length ? message : `${message.slice(0, Math.max(0, length - 1))}…`;
