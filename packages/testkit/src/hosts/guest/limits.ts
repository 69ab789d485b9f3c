import { strict as assert } from 'node:assert';
import { Sandbox } from '@skerry/sdk';
import { findCgroup, readLimit } from './cgroup.ts';
import { checkWork, shell } from './checks.ts';
import type { Connection } from './server.ts';

const forkUntilRefused = `
import os, signal
children = []
try:
    while len(children) < 20000:
        pid = os.fork()
        if pid == 0: signal.pause()
        children.append(pid)
except OSError as error:
    print('refused', error.errno)
for pid in children: os.kill(pid, 9)
`;

const takeMemory = `
taken = []
while True: taken.append(bytearray(16 << 20))
`;

/** That a sandbox has the limits it was made with, and is usable after each of them was reached. */
export async function checkLimits(connection: Connection, { disk = true } = {}): Promise<string> {
  await using sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
  const { cpuCount, memoryMiB, diskSizeMiB } = await sandbox.getInfo();

  await sandbox.commands.run('sleep 54321', { background: true, timeoutMs: 0 });
  const cgroup = await findCgroup('sleep 54321');
  const [quota = '', period = ''] = readLimit(cgroup, 'cpu.max').split(' ');
  assert.equal(Number(quota) / Number(period), cpuCount, `cpu.max of ${cgroup}`);
  const memoryMax = Number(readLimit(cgroup, 'memory.max'));
  assert.ok(
    memoryMax >= memoryMiB * 2 ** 20 && memoryMax < memoryMiB * 2 ** 20 * 1.5,
    `memory.max is ${memoryMax}`,
  );

  await sandbox.files.write('/home/user/memory.py', takeMemory);
  const memory = await shell(sandbox, 'python3 memory.py; echo ended with $?');
  assert.match(memory, /^ended with (137|1)$/m, 'a process that takes more memory than there is');
  await checkWork(sandbox);

  await sandbox.files.write('/home/user/fork.py', forkUntilRefused);
  assert.match(await shell(sandbox, 'python3 fork.py'), /refused 11/, 'a process that forks without end');
  await checkWork(sandbox);

  if (disk) {
    const fill = `for i in $(seq 1 64); do fallocate -l 256M /home/user/fill-$i || break; done; df -m / | tail -1; rm /home/user/fill-*`;
    const filled = await shell(sandbox, fill);
    assert.match(filled, /No space left on device/, 'files that fill the disk');
    const size = Number(/\s(\d+)\s+\d+\s+\d+\s+\d+%/.exec(filled)?.[1]);
    assert.ok(size <= diskSizeMiB, `the disk has ${size} MiB, ${diskSizeMiB} were asked for`);
    await checkWork(sandbox);
  }
  return `cpu.max ${quota} ${period}, memory.max ${memoryMax >> 20} MiB in ${cgroup}`;
}
