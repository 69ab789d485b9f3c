import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { expect, it, type TestContext } from 'vitest';
import { isRuntimeError } from '../../../error.ts';
import { startHelper } from '../../../remote/helper.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const MIB = 2 ** 20;
const oci = useOci({ name: 'short', memory: true });

/** The helper of this file's data folder; none right after its end. */
const findHelpers = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('--socket') && words.includes(oci.dataDir);
      } catch {
        return false; // The process has just ended.
      }
    });

const root = '/sys/fs/cgroup/memory';

const requireLimits = (context: TestContext): void => {
  if (existsSync(`${root}/memory.limit_in_bytes`)) return;
  const why = 'the memory of cgroups is of version 2 here';
  console.warn(`skipped: ${why}`);
  context.skip(why);
};

it('a helper that can allocate no more memory, and may be killed for it, reports it and loses no sandbox', async (context) => {
  requireLimits(context);
  const { agentDir, dataDir, rootfs, settings, toId } = oci;
  const driver = { name: 'oci', keepsMemory: true, programsDir: oci.programsDir } as const;
  const helper = await startHelper({ dataDir, agentDir, driver });
  const group = `${root}/short-${process.pid}`;
  await mkdir(group);
  const id = toId();
  const outcomes: string[] = [];
  const unexpected: string[] = [];
  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
      outcomes.push('done');
    } catch (error) {
      if (!isRuntimeError(error)) throw error;
      outcomes.push(error.code);
      if (!['exhausted', 'unavailable'].includes(error.code))
        unexpected.push(`${act.toString()}: ${error.stack}`);
    }
  };
  try {
    const made = await helper.create({ id, rootfs, ...settings });
    await runInside(made, 'echo kept > /root/kept; sync');
    // The memory that it has is not counted there, further memory is.
    for (const limitBytes of [1 * MIB, 3 * MIB, 12 * MIB]) {
      await writeFile(`${group}/memory.limit_in_bytes`, String(limitBytes));
      for (const act of [
        async () => (await helper.create({ id: toId(), rootfs, ...settings })).stop(),
        async () => (await helper.get(id)).pause({ memory: true }),
        async () => (await helper.get(id)).resume(),
        async () => (await helper.get(id)).snapshot({ id: toId(), memory: true }),
      ]) {
        for (const pid of findHelpers()) await writeFile(`${group}/cgroup.procs`, String(pid));
        await attempt(act);
      }
    }
    expect(unexpected).toEqual([]);
    expect(outcomes.filter((outcome) => outcome !== 'done')).not.toEqual([]);
    await writeFile(`${group}/memory.limit_in_bytes`, '-1');
    const found = await helper.get(id);
    await found.resume();
    expect((await runInside(found, 'cat /root/kept')).output).toBe('kept\n');
    for await (const instance of helper.list()) await instance.stop();
    for await (const snapshot of helper.snapshots.list()) await helper.snapshots.delete(snapshot.id);
  } finally {
    await writeFile(`${group}/memory.limit_in_bytes`, '-1');
    await helper.close();
    // A process that has just ended still counts for a moment.
    await expect
      .poll(() =>
        rmdir(group).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
  }
});

it('a kill by the OOM killer is noticed by a process in the same cgroup', async (context) => {
  requireLimits(context);
  const group = `${root}/beside-${process.pid}`;
  await mkdir(group);
  try {
    await writeFile(`${group}/memory.limit_in_bytes`, String(64 * MIB));
    // Run the function in a process of its own, whose group it watches.
    const program = `import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { watchOomKills } from ${JSON.stringify(new URL('./watch-oom-kills.ts', import.meta.url).href)};
writeFileSync('${group}/cgroup.procs', String(process.pid));
const wasShort = watchOomKills();
spawnSync('false');
const before = wasShort();
const { signal } = spawnSync(process.execPath, ['-e', 'for (const all = []; ; ) all.push(Buffer.alloc(1 << 20, 1))']);
process.stdout.write(JSON.stringify([before, signal, wasShort()]));`;
    const args = ['--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([JSON.stringify([false, 'SIGKILL', true]), '']);
  } finally {
    await rmdir(group);
  }
});
