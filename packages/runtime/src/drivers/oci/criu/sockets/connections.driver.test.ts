import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../../runtime.ts';
import { runInside } from '../../../../suite/client.ts';
import { useOci } from '../../testing/oci-fixture.ts';

const { create, toId } = useOci({ name: 'full', memory: true, internet: true });

describe('connections over loopback that are full', () => {
  it('stay as they are in the source of a fork, and go on at once in the fork', async () => {
    const source = await create();
    // TCP_INFO (linux/tcp.h); without an answer to what was sent the kernel of a fork would wait three seconds.
    const program = `cat > /root/full.py <<'END'
import os, random, socket, struct, threading, time
random.seed(1); pairs = []
def boot(): return open("/proc/sys/kernel/random/boot_id").read()
first_boot = boot()
def fill(c, size):
    sent = 0; c.setblocking(False)
    try:
        while True: sent += c.send(b"x" * size)
    except BlockingIOError: c.settimeout(100)
    return sent
for i in range(40):
    s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
    size = random.choice((1448, 16384, 65536, 1 << 20)); open_bytes = fill(c, size)
    if i % 3 == 0: open_bytes -= len(a.recv(random.choice((1000, 65536, 1 << 20))))
    if i % 6 == 0: open_bytes += fill(c, size)
    pairs.append((c, a, open_bytes))
def unsent(c): return struct.unpack_from("I", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), 144)[0]
def tell(what): open("/root/new", "w").write(what); os.rename("/root/new", "/root/told")
while not os.path.exists("/root/go") and boot() == first_boot:
    tell(str(sum(unsent(c) > 0 for c, _, _ in pairs))); time.sleep(0.02)
worst = [0] * len(pairs)
def drain(i, a, left):
    while left > 0:
        before = time.monotonic(); left -= len(a.recv(1 << 20)); worst[i] = max(worst[i], time.monotonic() - before)
threads = [threading.Thread(target=drain, args=(i, a, left)) for i, (_, a, left) in enumerate(pairs)]
for one in threads: one.start()
for one in threads: one.join()
tell("drained, late: %r" % [round(gap, 1) for gap in worst if gap > 1.5]); time.sleep(1000)
END
setsid python3 /root/full.py > /root/log 2>&1 < /dev/null & until [ -s /root/told ]; do sleep 0.05; done; sleep 0.3`;
    await runInside(source, program);
    const read = async (instance: Instance): Promise<string> =>
      (await runInside(instance, 'cat /root/told /root/log')).output;
    const before = await read(source);
    expect(Number(before)).toBeGreaterThan(20);
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await expect.poll(() => read(fork), { timeout: 30_000 }).toBe('drained, late: []');
    expect(await read(source)).toBe(before);
    await runInside(source, 'touch /root/go');
    await expect.poll(() => read(source), { timeout: 30_000 }).toBe('drained, late: []');
  }, 90_000);
});
