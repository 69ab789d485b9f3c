import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandExitError, Sandbox } from '@skerry/sdk';
import { findCgroup, readLimit } from './cgroup.ts';
import { checkWork } from './checks.ts';
import { fillSockets } from './fill-sockets.ts';
import type { Connection } from './server.ts';

const MIB = 2 ** 20;

/** That data which waits in the sockets of a sandbox is counted as its memory, and ends at its limit. */
export async function checkSocketMemory(connection: Connection): Promise<string> {
  await using sandbox = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
  await sandbox.commands.run('sleep 54322', { background: true, timeoutMs: 0 });
  const cgroup = await findCgroup('sleep 54322');
  const limitBytes = Number(readLimit(cgroup, 'memory.max'));
  const before = readSocketBytes(cgroup);

  await sandbox.files.write('/home/user/fill.py', fillSockets);
  const filling = await sandbox.commands.run('exec python3 -u fill.py 3600', {
    background: true,
    timeoutMs: 0,
  });
  let printed = '';
  for await (const piece of filling) {
    if ('stdout' in piece) printed += piece.stdout;
    if (printed.includes('\n')) break;
  }
  const takenMib = Number(printed);
  if (printed === '') {
    const { exitCode } = await filling.wait().catch((error: unknown) => {
      if (error instanceof CommandExitError) return error;
      throw error;
    });
    assert.equal(exitCode, 137, 'a program that prints nothing was killed at the limit');
    await checkWork(sandbox);
    return 'the kernel killed the program at the limit of the memory';
  }
  const countedBytes = readSocketBytes(cgroup) - before;
  assert.ok(takenMib > 16, `only ${takenMib} MiB were taken`);
  assert.ok(countedBytes >= takenMib * MIB, `${takenMib} MiB wait, ${countedBytes} bytes are counted`);
  assert.ok(countedBytes < limitBytes, `${countedBytes} bytes are counted of at most ${limitBytes}`);
  await checkWork(sandbox);
  await filling.kill();
  return `${takenMib} MiB wait in sockets, ${Math.round(countedBytes / MIB)} MiB are counted of ${limitBytes / MIB} MiB`;
}

/** What the kernel counts as memory of sockets, in the cgroup and those below it. */
const readSocketBytes = (cgroup: string): number =>
  Number(/^sock (\d+)$/m.exec(readFileSync(join(cgroup, 'memory.stat'), 'utf8'))?.[1]);
