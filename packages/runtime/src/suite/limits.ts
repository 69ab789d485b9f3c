import { arch } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Instance } from '../runtime.ts';
import { callGuest, isAlive, runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** What code inside may use up, without affecting any other sandbox. */
export const limitsSuite = (host: SuiteHost): void => {
  describe('limits', () => {
    it('contains a fork bomb, and the agent answers or the whole sandbox has ended', async () => {
      const instance = await host.create();
      // Each shell waits, so that the bomb fills the sandbox and stays.
      const bomb = 'for i in $(seq 400); do (sleep 20 &) 2>/dev/null || echo full; done';
      const begin = `setsid sh -c '${bomb}' >/dev/null 2>&1 </dev/null & sleep 1`;
      if (host.traits.endsAtLimit === 'sandbox') {
        // The sandbox may end before it answers.
        await runInside(instance, begin).catch(() => undefined);
        await expectEnd(host, instance);
        return;
      }
      await runInside(instance, begin);
      const { processCount } = await instance.usage();
      expect(processCount).toBeGreaterThan(limits.processCount / 2);
      expect(processCount).toBeLessThanOrEqual(limits.processCount);
      expect(await callGuest(await instance.connect(49_983), { path: '/' })).toBe('ok');
    });

    it('ends a program that exceeds the memory limit, and not the agent, or the whole sandbox', async () => {
      const instance = await host.create();
      const { oomKills: before } = await instance.usage();
      const take = runInside(instance, `perl -e 'my $x = "x" x (1 << 30); print length $x'`);
      if (host.traits.endsAtLimit === 'sandbox') {
        await expect(take).rejects.toThrow();
        await expectEnd(host, instance);
        return;
      }
      expect((await take).code).not.toBe(0);
      expect(await isAlive(instance)).toBe(true);
      const { oomKills } = await instance.usage();
      if (before !== undefined) expect(oomKills).toBeGreaterThan(before);
    });

    it('grants no more processor time than the limit', async () => {
      const instance = await host.create({ limits: { ...limits, cpuCount: 0.5 } });
      const measureShare = async (): Promise<number> => {
        const before = await instance.usage();
        const started = performance.now();
        await runInside(
          instance,
          'for i in 1 2 3; do (timeout 1 sh -c "while :; do :; done" &) ; done; sleep 1.2',
        );
        const { cpuTimeMs } = await instance.usage();
        return (cpuTimeMs - before.cpuTimeMs) / (performance.now() - started);
      };
      // A busy host may not provide even that much for a while.
      let share = 0;
      for (let turn = 0; turn < 10 && share < 0.2; turn++) {
        share = await measureShare();
        expect(share).toBeLessThan(0.65);
      }
      expect(share).toBeGreaterThan(0.2);
    });

    it('fails writes with "no space" at the size of the disk, and the agent still answers', async () => {
      const instance = await host.create();
      const fill = await runInside(
        instance,
        'head -c 200000000 /dev/zero > /root/big; wc -c < /root/big; sync',
      );
      expect(fill.output).toContain('No space left on device');
      const written = Number(/^\d+$/m.exec(fill.output)?.[0]);
      expect(written).toBeGreaterThan(limits.diskBytes / 2);
      expect(written).toBeLessThan(limits.diskBytes);
      expect(await isAlive(instance)).toBe(true);
    });

    if (host.isFull)
      it('bounds the number of files', async () => {
        const instance = await host.create();
        const fill = await runInside(
          instance,
          `mkdir /root/d; perl -e 'for (1..100000) { open(my $f, ">", "/root/d/$_") or die "$_ $!" }'`,
        );
        expect(fill.output).toContain('No space left on device');
        expect(await isAlive(instance)).toBe(true);
      });

    if (host.isFull)
      it('prevents a sandbox from using up what the kernel counts for each user', async () => {
        const [one, other] = await Promise.all([host.create(), host.create()]);
        const number = arch() === 'arm64' ? 26 : 294;
        const take = `perl -e '$| = 1; while (syscall(${number}, 0) >= 0) { $n++; last if $n > 15000 } print "$n\\n"; sleep 30'`;
        // 15,000 watchers, or as many as one user may have.
        const taken = await runInside(
          one,
          `${take} >/root/taken 2>&1 </dev/null & until [ -s /root/taken ]; do sleep 0.1; done; cat /root/taken`,
        );
        expect(Number(taken.output)).toBeGreaterThan(10);
        const { output } = await runInside(
          other,
          `perl -e 'print syscall(${number}, 0) >= 0 ? "watching" : $!'`,
        );
        expect(output).toBe('watching');
        expect((await host.create()).id).toBeTruthy();
      });

    if (host.isFull)
      it('contains a program that opens files without end', async () => {
        const instance = await host.create();
        const open = `perl -e 'while (open($f[$n], "<", "/dev/null")) { $n++ } print "$n $!"'`;
        const { output } = await runInside(instance, open);
        expect(output).toContain('Too many open files');
        expect(await isAlive(instance)).toBe(true);
      });

    it('limits the folder that the agent shares with the host by the same disk', async () => {
      const instance = await host.create();
      const fill = await runInside(instance, 'head -c 200000000 /dev/zero > /run/envd/big');
      expect(fill.output).toContain('No space left on device');
    });
  });
};

/** The sandbox has ended: its remains can be removed, and another one can start. */
const expectEnd = async (host: SuiteHost, instance: Instance): Promise<void> => {
  await expect.poll(() => instance.state()).toBe('stopped');
  await instance.stop();
  await expect.poll(() => host.traces(), { interval: 20 }).toEqual([]);
  expect(await isAlive(await host.create())).toBe(true);
};
