import type { Sandbox } from '@skerry/sdk';

const toProgram = (mib: number): string => `
import os, time
held = bytearray(${mib} << 20)
noise = os.urandom(1 << 20)
for start in range(0, len(held), 1 << 20): held[start:start + (1 << 20)] = noise
for page in range(0, len(held), 4096): held[page:page + 8] = page.to_bytes(8, 'little')
count = 0
while True:
    count += 1
    open('count.new', 'w').write(f'{os.getpid()} {count} {held[-4096]}')
    os.rename('count.new', 'count')
    time.sleep(0.02)
`;

/** A process in a sandbox that fills its memory with unique pages, and counts. */
export interface MemoryProcess {
  /** Rejects unless exactly this process is in that sandbox and keeps counting. */
  requireAlive(sandbox: Sandbox): Promise<void>;
}

export async function startMemoryProcess(sandbox: Sandbox, { mib }: { mib: number }): Promise<MemoryProcess> {
  await sandbox.files.write('hold.py', toProgram(mib));
  const read = async (from: Sandbox): Promise<{ pid: string; count: number }> => {
    const { stdout } = await from.commands.run('until [ -s count ]; do sleep 0.02; done; cat count');
    const [pid = '', count] = stdout.split(' ');
    return { pid, count: Number(count) };
  };
  // Without a stream, which a pause would break.
  await sandbox.commands.run('setsid python3 hold.py > hold.log 2>&1 < /dev/null &', { timeoutMs: 60_000 });
  const first = await read(sandbox);
  let last = first.count;
  return {
    requireAlive: async (other) => {
      const deadline = Date.now() + 10_000;
      for (;;) {
        const found = await read(other);
        if (found.pid !== first.pid) throw new Error(`process ${first.pid} is gone`);
        if (found.count > last) {
          last = found.count;
          return;
        }
        if (Date.now() > deadline) throw new Error(`process ${first.pid} counts no further than ${last}`);
      }
    },
  };
}
