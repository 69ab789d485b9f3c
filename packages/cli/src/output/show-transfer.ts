const SHOW_EVERY_MS = 200;

/** Shows on a terminal how many bytes have been added, on one line of stderr that goes at the end; elsewhere nothing. */
export function showTransfer(): { add(count: number): void } & Disposable {
  let total = 0;
  let shownAtMs = performance.now();
  const { stderr } = process;
  return {
    add(count) {
      total += count;
      if (!stderr.isTTY || performance.now() - shownAtMs < SHOW_EVERY_MS) return;
      shownAtMs = performance.now();
      stderr.write(`\r\u001b[K${(total / 2 ** 20).toFixed(1)} MiB`);
    },
    [Symbol.dispose]() {
      if (stderr.isTTY) stderr.write('\r\u001b[K');
    },
  };
}
