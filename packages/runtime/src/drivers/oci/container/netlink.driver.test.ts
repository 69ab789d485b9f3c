import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const oci = useOci({ name: 'netlink', memory: true, internet: true });

/** Starts a Python program that runs `act` on each request, and `end` on the last. */
const startListener = async (instance: Instance, { hold, act }: { hold: string; act: string }) => {
  const program = `cat > /root/listener.py <<'END'
import os, socket, struct, time
RTM_NEWADDR, RTM_GETLINK, REQUEST_ALL = 20, 18, 0x301
LINK_AND_IPV4_ADDRESS = 0x1 | 0x10
def open_socket(groups):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, groups)); s.setblocking(False); return s
def read(s):
    types = set()
    try:
        while True:
            message = s.recv(65536); types.add(struct.unpack_from("H", message, 4)[0])
    except BlockingIOError: return types
def ask(s): s.sendto(struct.pack("IHHIIB3x", 20, RTM_GETLINK, REQUEST_ALL, 1, 0, 0), (0, 0))
${hold}
open("/root/ready", "w").write("x")
while True:
    while not os.path.exists("/root/go"): time.sleep(0.02)
    open("/root/new", "w").write(repr((${act}))); os.unlink("/root/go"); os.rename("/root/new", "/root/found")
END
setsid python3 /root/listener.py > /root/log 2>&1 < /dev/null & for i in $(seq 200); do [ -s /root/ready ] && break; sleep 0.05; done; cat /root/log`;
  expect((await runInside(instance, program)).output).toBe('');
};
const act = async (instance: Instance): Promise<string> => {
  const wait =
    'for i in $(seq 200); do [ -e /root/found ] && break; sleep 0.05; done; cat /root/found /root/log';
  return (await runInside(instance, `rm -f /root/found; touch /root/go; ${wait}`)).output;
};

describe('a socket of netlink', () => {
  it('that is not read does not prevent any number of pauses, and receives notices afterwards', async () => {
    const instance = await oci.create();
    await startListener(instance, {
      // The second socket is too small for its messages, so it has lost some.
      hold: `s = open_socket(LINK_AND_IPV4_ADDRESS); small = open_socket(LINK_AND_IPV4_ADDRESS); small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)`,
      act: 'RTM_NEWADDR in read(s)',
    });
    for (let round = 0; round < 3; round++) {
      await instance.pause({ memory: true });
      await instance.resume();
      const { output } = await runInside(instance, 'cat /proc/net/netlink');
      expect(output).toMatch(/ 00000011 [1-9]/);
    }
    await instance.snapshot({ id: oci.toId(), memory: true });
    expect((await runInside(instance, 'cat /proc/net/netlink')).output).not.toMatch(/ 00000011 [1-9]/);
    await instance.pause({ memory: true });
    await instance.resume();
    expect(await act(instance)).toBe('True');
  });

  it('with an unread answer prevents a pause until the answer is read', async () => {
    const instance = await oci.create();
    await startListener(instance, { hold: 's = open_socket(0); ask(s)', act: 'len(read(s)) > 0' });
    const refused = { code: 'blocked', obstacle: { kind: 'netlink_reply' } };
    await expect(instance.pause({ memory: true })).rejects.toMatchObject(refused);
    await expect(instance.snapshot({ id: oci.toId(), memory: true })).rejects.toMatchObject(refused);
    expect(await act(instance)).toBe('True');
    await instance.pause({ memory: true });
    await instance.resume();
    expect(await act(instance)).toBe('False');
  });
});
