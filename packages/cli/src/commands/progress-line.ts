/** A stream on which progress is shown, such as stderr. */
export interface ProgressStream {
  isTTY?: boolean;
  write(text: string): unknown;
}

export interface StartProgress {
  message: string;
  /** Of the whole work, 0 to 1; absent while it is unknown. */
  fraction?: number;
}

/** Shows the steps of a start. On a terminal the step in progress has a line with its part of the work and its time. */
export interface ProgressLine extends Disposable {
  show(progress: StartProgress): void;
  /** Writes text of others without mixing it with that line. */
  write(text: string): void;
}

const ERASE_LINE = '\r\u001b[K';

/**
 * `now` is in milliseconds. On another stream than a terminal each message is a line after the time since the first, and
 * nothing is repeated.
 */
export function createProgressLine(stream: ProgressStream, now: () => number = Date.now): ProgressLine {
  let step: (StartProgress & { startedAt: number }) | undefined;
  let firstAt: number | undefined;
  let last: string | undefined;
  const draw = (): void => {
    if (step === undefined) return;
    const part = step.fraction === undefined ? '' : `${Math.round(step.fraction * 100)} %, `;
    stream.write(`${ERASE_LINE}${step.message} (${part}${Math.round((now() - step.startedAt) / 1000)} s)`);
  };
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    if (step !== undefined) stream.write('\n');
    step = undefined;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    show(progress) {
      if (!stream.isTTY) {
        firstAt ??= now();
        if (progress.message !== last)
          stream.write(`[${Math.round((now() - firstAt) / 1000)} s] ${progress.message}\n`);
        last = progress.message;
        return;
      }
      const startedAt = step?.message === progress.message ? step.startedAt : now();
      if (step !== undefined && step.message !== progress.message) end();
      step = { ...progress, startedAt };
      draw();
      timer ??= setInterval(draw, 1000).unref();
    },
    write(text) {
      if (step !== undefined) stream.write(ERASE_LINE);
      stream.write(text);
      draw();
    },
    [Symbol.dispose]: end,
  };
}
