import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../../runtime.ts';
import { runInside } from '../../../../suite/client.ts';
import { useOci } from '../../testing/oci-fixture.ts';

const oci = useOci({ name: 'full', memory: true, internet: true });

const MIB = 2 ** 20;

// The limit on the memory of sockets follows from that of the sandbox: these connections need less than that of the large
// one, and as much as there is in the small one. There the kernel takes back what receivers had announced: the seed
// is one with which it does.
describe.each([
  { memoryMb: 2048, fullCount: 20, rounds: 0, seed: 1 },
  { memoryMb: 256, fullCount: 5, rounds: 3, seed: 9 },
])('loopback connections with full buffers in $memoryMb MiB', ({ memoryMb, fullCount, rounds, seed }) => {
  const limits = { cpuCount: 1, memoryBytes: memoryMb * MIB, diskBytes: 64 * MIB, processCount: 64 };
  const settings = () => ({ ...oci.settings, id: oci.toId(), limits });

  it('stay as they are in the source of a fork, and continue at once in the fork', async () => {
    const source = await oci.runtime.create({ ...settings(), rootfs: oci.rootfs });
    // TCP_INFO (linux/tcp.h); without an acknowledgement the kernel of a fork would wait three seconds.
    const program = `cat > /root/full.py <<'END'
import os, random, socket, struct, threading, time
random.seed(${seed}); pairs = []
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
    pairs.append([c, a, open_bytes])
for _ in range(${rounds}):
    for one in pairs:
        c, a, _ = one; a.setblocking(False)
        try: one[2] -= len(a.recv(random.choice((1000, 65536, 1 << 20))))
        except BlockingIOError: pass
        a.settimeout(None); one[2] += fill(c, random.choice((1448, 16384, 65536, 1 << 20)))
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
    expect(Number(before)).toBeGreaterThan(fullCount);
    const snapshot = oci.toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await oci.runtime.create({ ...settings(), snapshot });
    await expect.poll(() => read(fork)).toBe('drained, late: []');
    expect(await read(source)).toBe(before);
    await runInside(source, 'touch /root/go');
    // What the kernel had no memory for is sent again by timers that double, with and without a fork.
    const isAtLimit = limits.memoryBytes / 8 <= 32 * MIB;
    const drained = isAtLimit ? expect.stringMatching(/^drained/) : 'drained, late: []';
    await expect.poll(() => read(source)).toEqual(drained);
  });
});
