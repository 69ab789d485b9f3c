import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';

const WRITTEN_MIB = 64;

/** Reads the clock every millisecond, and on a signal writes the longest interval since the last signal. */
const watch = `
import os, signal, sys, time
longest, last = 0, time.monotonic()
def tell(*_):
    global longest, last
    open('told.new', 'w').write(str(longest * 1000))
    os.rename('told.new', 'told')
    longest, last = 0, time.monotonic()
signal.signal(signal.SIGUSR1, tell)
open('watch.pid', 'w').write(str(os.getpid()))
while True:
    time.sleep(0.001)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
`;

/** How long a sandbox that has written 64 MiB is frozen while a snapshot of it is made, measured inside. */
const measure =
  ({ memory, ifMissed }: { memory: boolean; ifMissed: string }): Benchmark =>
  async ({ name, runs, stack, resources }) => {
    const sandbox = await stack.createSandbox();
    resources.defer(async () => void (await sandbox.kill()));
    await sandbox.commands.run(`head -c ${WRITTEN_MIB}M /dev/urandom > written`);
    await sandbox.files.write('watch.py', watch);
    // Without a stream, which a snapshot with memory would break.
    await sandbox.commands.run(
      'setsid python3 watch.py > watch.log 2>&1 < /dev/null & until [ -s watch.pid ]; do sleep 0.02; done',
    );
    const longestMs = async (): Promise<number> => {
      const { stdout } = await sandbox.commands.run(
        'rm -f told; kill -USR1 $(cat watch.pid); until [ -s told ]; do sleep 0.01; done; cat told',
      );
      return Number(stdout);
    };
    const samples: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      await longestMs();
      const { snapshotId } = await sandbox.createSnapshot({ memory });
      samples.push(await longestMs());
      await stack.deleteSnapshot(snapshotId);
    }
    return [toRow({ name, unit: 'ms', samples, bound: { of: 'p50', atMost: 150 }, ifMissed })];
  };

export const snapshotStop = measure({
  memory: false,
  ifMissed: 'what was written since the copy began is written out and copied again meanwhile',
});
export const snapshotStopMemory = measure({
  memory: true,
  ifMissed:
    'CRIU writes all processes meanwhile, and goes through the connections that the host tracks, twice 15 ms; without MEM_SOFT_DIRTY in the kernel nothing can be written before',
});
