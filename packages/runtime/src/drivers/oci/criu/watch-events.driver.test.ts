import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create, toId } = useOci({ name: 'events', memory: true });

/** Starts a program in Python that has a watch of an empty folder and `count`, a function that keeps a number where `readCount` finds it. */
const start = (instance: Instance, program: string) =>
  runInside(
    instance,
    `mkdir /root/watched; cat > /root/watcher.py <<'END'
import ctypes, os, time
libc = ctypes.CDLL(None); IN_CREATE = 0x100; watch = libc.inotify_init1(0)
assert libc.inotify_add_watch(watch, b"/root/watched", IN_CREATE) > 0
def count(n):
    open("/root/new", "w").write(str(n)); os.rename("/root/new", "/root/count")
${program}
END
setsid python3 /root/watcher.py > /root/log 2>&1 < /dev/null & until [ -s /root/count ] || [ -s /root/log ]; do sleep 0.05; done; cat /root/log`,
  );

const readCount = async (instance: Instance): Promise<number> =>
  Number((await runInside(instance, 'cat /root/count')).output);

describe('events of a watch', () => {
  it('are read before the processes are kept, by a program that waits for each', async () => {
    const source = await create();
    const { output } = await start(
      source,
      `n = 0
while True:
    n += 1; open("/root/watched/%d" % n, "w").close()
    time.sleep(0.005)
    os.read(watch, 4096); os.unlink("/root/watched/%d" % n); count(n)`,
    );
    expect(output).toBe('');
    const expectCounting = async (instance: Instance): Promise<void> => {
      const before = await readCount(instance);
      await expect.poll(() => readCount(instance), { timeout: 10_000 }).toBeGreaterThan(before);
    };
    for (let round = 0; round < 3; round += 1) {
      await source.pause({ memory: true });
      await source.resume();
      await expectCounting(source);
      const snapshot = toId();
      await source.snapshot({ id: snapshot, memory: true });
      const fork = await create({ snapshot });
      await expectCounting(fork);
      await fork.stop();
    }
  });

  it('are dropped by a pause when a program never reads them, and later ones are reported', async () => {
    const instance = await create();
    const { output } = await start(
      instance,
      `open("/root/watched/early", "w").close(); count(1)
while not os.path.exists("/root/go"): time.sleep(0.02)
open("/root/watched/late", "w").close()
events = os.read(watch, 4096); count(2 if b"late" in events and b"early" not in events else 3)`,
    );
    expect(output).toBe('');
    await instance.pause({ memory: true });
    await instance.resume();
    await runInside(instance, 'touch /root/go');
    await expect.poll(() => readCount(instance), { timeout: 10_000 }).toBeGreaterThan(1);
    expect(await readCount(instance)).toBe(2);
  });
});
