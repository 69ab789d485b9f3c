import { describe, expect, it } from 'vitest';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create, toId } = useOci({ name: 'gone', memory: true });

/**
 * Lengths of names in bytes: the longest, and those around 245 and 237, the longest that leave room for " (deleted)" of the links in
 * /proc and for what CRIU appends.
 */
const lengths = [255, 254, 247, 246, 245, 238, 237, 236];

describe('a deleted file that a process has open', () => {
  it('survives a pause and a fork with a name of any length, also where another file has that name now', async () => {
    const source = await create();
    // One file of each length, and beside them: one with two names, one that is mapped, and one whose bytes are not
    // letters.
    const program = `cat > /root/holder.py <<'END'
import mmap, os, time
os.mkdir("/root/there"); os.chdir("/root/there")
names = ["%03d" % length + "x" * (length - 3) for length in [${lengths.join(', ')}]] + ["\u20ac" * 85]
def hold(name):
    f = open(name, "w+"); f.write("kept of " + name); f.flush(); os.unlink(name); f.seek(0); return f
files = [hold(name) for name in names]
again = hold(names[0]); other = open("/proc/self/fd/%d" % again.fileno(), "r+")
plain = hold("m" * 255); mapped = mmap.mmap(plain.fileno(), 0); plain.close()
os.mkdir("z" * 255); folder = os.open("z" * 255, os.O_RDONLY); os.rmdir("z" * 255)
long = "y" * 255; taken = hold(long); open(long, "w").write("of today")
open("/root/ready", "w").write("x")
while not os.path.exists("/root/go"): time.sleep(0.02)
other.seek(0, 2); other.write("!"); other.flush()
found = [f.read() == "kept of " + name for f, name in zip(files + [taken], names + [long])]
found += [again.read() == "kept of " + names[0] + "!", mapped[:] == b"kept of " + b"m" * 255, os.listdir(folder) == [], open(long).read(), os.listdir()]
open("/root/new", "w").write(repr(found)); os.rename("/root/new", "/root/found"); time.sleep(1000)
END
setsid python3 /root/holder.py > /root/log 2>&1 < /dev/null & for i in $(seq 200); do [ -s /root/ready ] && break; sleep 0.05; done; cat /root/log`;
    expect((await runInside(source, program)).output).toBe('');
    const snapshot = toId();
    await source.snapshot({ id: snapshot, memory: true });
    const fork = await create({ snapshot });
    await source.pause({ memory: true });
    await source.resume();
    // Again, with the names that they have now.
    await source.pause({ memory: true });
    await source.resume();
    const read =
      'touch /root/go; for i in $(seq 200); do [ -s /root/found ] && break; sleep 0.05; done; cat /root/found /root/log';
    const kept = lengths.map(() => 'True').join(', ');
    for (const one of [source, fork])
      expect((await runInside(one, read)).output).toBe(
        `[${kept}, True, True, True, True, True, 'of today', ['${'y'.repeat(255)}']]`,
      );
  });

  it.each([
    ['is open', ''],
    ['is mapped', 'mapped = mmap.mmap(f.fileno(), 0); f.close(); f = mapped'],
  ])(
    'that %s prevents a pause while it has another name and had one that is too long, and its process continues',
    async (_, hold) => {
      const instance = await create();
      const program = `cat > /root/linked.py <<'END'
import mmap, os, time
name = "/root/" + "x" * 246; f = open(name, "w+"); f.write("x"); f.flush(); os.link(name, "/root/other"); os.unlink(name); n = 0
${hold}
while True:
    n += 1; open("/root/new", "w").write(str(n)); os.rename("/root/new", "/root/count"); time.sleep(0.01)
    if os.path.exists("/root/close"): f.close(); os.unlink("/root/close")
END
setsid python3 /root/linked.py > /root/log 2>&1 < /dev/null & until [ -s /root/count ]; do sleep 0.05; done`;
      await runInside(instance, program);
      const read = async (): Promise<string> =>
        (await runInside(instance, 'cat /root/count /root/log')).output;
      const refused = { code: 'blocked', obstacle: { kind: 'long_deleted_name' } };
      await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
      await expect(instance.snapshot({ id: toId(), memory: true })).rejects.toMatchObject(refused);
      const before = await read();
      expect(before).toMatch(/^\d+$/);
      await expect.poll(read).not.toBe(before);
      await runInside(instance, 'touch /root/close; while [ -e /root/close ]; do sleep 0.02; done');
      await instance.pause({ memory: true });
      await instance.resume();
      expect((await runInside(instance, 'ls /root')).output).toContain('other');
    },
  );
});
