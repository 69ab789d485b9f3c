import { formatBytes } from './format-bytes.ts';

const SHOW_EVERY_MS = 200;
const ERASE_LINE = '\r\u001b[K';

/** The progress of one transfer, on a line of stderr that goes at the end; elsewhere than on a terminal nothing is shown. */
export interface Transfer extends Disposable {
  /** Whether something is shown, and a total that is not at hand is worth finding. */
  readonly isShown: boolean;
  /** Sets the size of the whole. Without it neither a total nor a percentage is shown. */
  expect(totalBytes: number): void;
  /** Counts bytes that have passed. */
  add(bytes: number): void;
  readonly passedBytes: number;
  /** Calls a function that writes to stderr, without mixing it with the line. */
  interject(write: () => void): void;
}

/** Shows bytes, total, percentage and the mean rate since the first byte. `now` is in milliseconds. */
export function showTransfer(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
  now: () => number = () => performance.now(),
): Transfer {
  let total: number | undefined;
  let passed = 0;
  let begunAt: number | undefined;
  let shownAt = Number.NEGATIVE_INFINITY;
  const erase = (): void => {
    if (stream.isTTY) stream.write(ERASE_LINE);
  };
  return {
    isShown: stream.isTTY,
    expect(totalBytes) {
      total = totalBytes;
    },
    add(bytes) {
      begunAt ??= now();
      passed += bytes;
      if (!stream.isTTY || now() - shownAt < SHOW_EVERY_MS) return;
      shownAt = now();
      const seconds = (now() - begunAt) / 1000;
      stream.write(
        `${ERASE_LINE}${[
          total === undefined ? formatBytes(passed) : `${formatBytes(passed)} of ${formatBytes(total)}`,
          // The sandbox may send more than it has announced.
          ...(total === undefined
            ? []
            : [`${Math.min(100, Math.floor((passed / Math.max(total, 1)) * 100))} %`]),
          ...(seconds > 0 ? [`${formatBytes(Math.round(passed / seconds))}/s`] : []),
        ].join(', ')}`,
      );
    },
    get passedBytes() {
      return passed;
    },
    interject(write) {
      erase();
      write();
    },
    [Symbol.dispose]: erase,
  };
}
