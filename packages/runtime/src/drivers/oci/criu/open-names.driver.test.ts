import { describe, expect, it } from 'vitest';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const oci = useOci({ name: 'names', memory: true, internet: true });

/** Has the files open and watches them; then prints their content from the beginning, and the number of events. */
const holder = `cat > /root/holder.py <<'END'
import ctypes, os, time
libc = ctypes.CDLL(None); watcher = libc.inotify_init1(0o4000)
names = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"]
files = [open(name) for name in names]
for f in files: f.read()
os.chmod(names[2], 0o600)
for name in names: assert libc.inotify_add_watch(watcher, name.encode(), 2) > 0
open("/root/ready", "w").write("x")
while not os.path.exists("/root/go"): time.sleep(0.02)
found = []
for f in files: f.seek(0); found.append(f.read())
for name in names: open(name, "a").write("#")
found.append("%d told" % (len(os.read(watcher, 9999)) // 16))
open("/root/new", "w").write("".join(found)); os.rename("/root/new", "/root/found"); time.sleep(1000)
END
setsid python3 /root/holder.py > /root/log 2>&1 < /dev/null & for i in $(seq 200); do [ -s /root/ready ] && break; sleep 0.05; done; cat /root/log`;

const readFound = async (instance: Instance): Promise<string> => {
  const wait =
    'for i in $(seq 200); do [ -s /root/found ] && break; sleep 0.05; done; cat /root/found /root/log';
  return (await runInside(instance, `touch /root/go; ${wait}`)).output;
};

describe('a process that has /etc/hostname, /etc/hosts and /etc/resolv.conf open', () => {
  it('is restored in copies with shorter and longer names, with and without a network, and reads theirs', async () => {
    const source = await oci.create();
    expect((await runInside(source, holder)).output).toBe('');
    const { output: resolvers } = await runInside(source, 'cat /etc/resolv.conf');
    expect(resolvers).toContain('nameserver');
    const snapshot = oci.toId();
    await source.snapshot({ id: snapshot, memory: true });
    const longer = await oci.create({ snapshot }, 'a-name-of-more-letters');
    const { settings } = oci;
    const offline = { ...settings, hostname: 'b', network: CLOSED_NETWORK };
    const shorter = await oci.runtime.create({ id: oci.toId(), snapshot, ...offline });
    const hosts = (name: string) =>
      `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 ${name}\n`;
    const expected = (name: string) => `${name}\n${hosts(name)}`;
    expect(await readFound(longer)).toBe(`${expected('a-name-of-more-letters')}${resolvers}3 told`);
    expect(await readFound(shorter)).toBe(`${expected('b')}${resolvers}3 told`);
    expect(await readFound(source)).toBe(`${expected(settings.hostname)}${resolvers}3 told`);
  });
});
