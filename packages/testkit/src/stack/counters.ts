import type { Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';

/** Programs that tell, in a file each, who they are and how far they have counted. */
const counters = {
  node: `env LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "
let count = 0;
setInterval(() => require('node:fs').writeFileSync('/tmp/node', process.pid + ' ' + count++), 10)"`,
  python: `python3 -c "
import os, time
count = 0
while True:
  open('/tmp/python.new', 'w').write(f'{os.getpid()} {count}'); os.rename('/tmp/python.new', '/tmp/python')
  count += 1; time.sleep(0.01)"`,
};

type Name = keyof typeof counters;

export const counterNames = Object.keys(counters) as Name[];

/** Who counts, and how far it has come. */
export type Counts = Record<Name, { pid: number; count: number }>;

export const startCounters = async (sandbox: Sandbox): Promise<void> => {
  for (const name of counterNames) {
    await sandbox.commands.run(`setsid ${counters[name]} > /dev/null 2>&1 < /dev/null &`);
    await expect.poll(() => sandbox.files.exists(`/tmp/${name}`)).toBe(true);
  }
};

const readCounter = async (sandbox: Sandbox, name: Name): Promise<{ pid: number; count: number }> => {
  let text = '';
  // A file that is being written may be empty.
  while (!text.includes(' ')) text = await sandbox.files.read(`/tmp/${name}`);
  const [pid = 0, count = 0] = text.split(' ').map(Number);
  return { pid, count };
};

export const readCounters = async (sandbox: Sandbox): Promise<Counts> => ({
  node: await readCounter(sandbox, 'node'),
  python: await readCounter(sandbox, 'python'),
});

/** Each goes on where it was, in the same process: not from the start, and it did not count meanwhile. */
export const expectToGoOn = async (sandbox: Sandbox, before: Counts): Promise<void> => {
  for (const name of counterNames) {
    const { pid, count } = await readCounter(sandbox, name);
    expect(pid).toBe(before[name].pid);
    expect(count).toBeGreaterThanOrEqual(before[name].count);
    expect(count - before[name].count).toBeLessThan(2_000);
    await expect.poll(async () => (await readCounter(sandbox, name)).count).toBeGreaterThan(count);
  }
};
