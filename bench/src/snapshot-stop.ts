import type { Benchmark } from './benchmark.ts';
import { toRow } from './row.ts';

const WRITTEN_MIB = 64;

/** Looks at the clock every millisecond, and tells on a signal the longest time between two looks since the last. */
const watch = `
import signal, sys, time
longest, last = 0, time.monotonic()
def tell(*_):
    global longest, last
    print(longest * 1000, flush=True)
    longest, last = 0, time.monotonic()
signal.signal(signal.SIGUSR1, tell)
print('ready', flush=True)
while True:
    time.sleep(0.001)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
`;

/** For how long a sandbox that has written 64 MiB stands still while a snapshot of its files is made, as seen from inside. */
export const snapshotStop: Benchmark = async ({ name, runs, stack, resources }) => {
  const sandbox = await stack.createSandbox();
  resources.defer(async () => void (await sandbox.kill()));
  await sandbox.commands.run(`head -c ${WRITTEN_MIB}M /dev/urandom > written`);
  await sandbox.files.write('watch.py', watch);
  const lines: string[] = [];
  let heard = (): void => {};
  const handle = await sandbox.commands.run('python3 watch.py', {
    background: true,
    timeoutMs: 0,
    onStdout: (text) => {
      lines.push(...text.split('\n').filter(Boolean));
      heard();
    },
  });
  const next = async (): Promise<string> => {
    while (lines.length === 0) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
    return lines.shift() as string;
  };
  const longestMs = async (): Promise<number> => {
    await sandbox.commands.run(`kill -USR1 $(pgrep -f 'python3 watch.py' | head -n 1)`);
    return Number(await next());
  };
  await next();
  const samples: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await longestMs();
    const { snapshotId } = await sandbox.createSnapshot({ memory: false });
    samples.push(await longestMs());
    await stack.deleteSnapshot(snapshotId);
  }
  await handle.kill();
  return [toRow({ name, unit: 'ms', samples, bound: { of: 'p50', atMost: 150 } })];
};
