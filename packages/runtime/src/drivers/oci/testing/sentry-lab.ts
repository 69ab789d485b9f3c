import { beforeAll, beforeEach, expect } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { prepareRunsc } from '../gvisor/prepare-runsc.ts';
import { type OciFixture, useOci } from './oci-fixture.ts';

/**
 * Sets up `useOci` for sandboxes of level gvisor that keep their memory. `reopen` needs no change for that.
 */
export const useSentry = (name: string): OciFixture & { readonly runscPath: string } => {
  const oci = useOci({ name, internet: true });
  let runscPath: string;
  const reopen: OciFixture['reopen'] = (change) => oci.reopen({ runscPath, keepsMemory: true, ...change });
  beforeAll(async () => {
    runscPath = await prepareRunsc({ targetDir: '/var/cache/skerry' });
  });
  beforeEach(() => reopen());
  const fixture = Object.create(oci, { reopen: { value: reopen }, runscPath: { get: () => runscPath } });
  return fixture as OciFixture & { readonly runscPath: string };
};

/** Counts in memory, in a shell's child on a pipe, and over loopback TCP and a unix socket to itself. */
const counter = `python3 -c '
import os, socket, subprocess, threading, time
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def serve(server):
  one, _ = server.accept()
  while True: one.sendall(one.recv(100))
def connect(family, at):
  server = socket.socket(family); server.bind(at); server.listen()
  threading.Thread(target=serve, args=(server,), daemon=True).start()
  one = socket.socket(family); one.connect(server.getsockname()); return one
ends = [connect(socket.AF_INET, ("127.0.0.1", 0)), connect(socket.AF_UNIX, "\\0name")]
count = 0
while True:
  count += 1
  line = b"%d\\n" % count
  for end in ends:
    end.sendall(line)
    assert end.recv(100) == line
  child.stdin.write(line); child.stdin.flush()
  assert child.stdout.readline() == line
  with open("/root/next", "w") as file: file.write("%d %d" % (count, os.getpid()))
  os.rename("/root/next", "/root/count")
  time.sleep(0.01)
'`;

export const readCounter = async (instance: Instance): Promise<{ count: number; pid: number }> => {
  const { output } = await runInside(instance, 'cat /root/count');
  const [count = 0, pid = 0] = output.split(' ').map(Number);
  return { count, pid };
};

export const startCounter = async (instance: Instance): Promise<{ count: number; pid: number }> => {
  await runInside(instance, `setsid ${counter} >/root/log 2>&1 </dev/null &`);
  await expect.poll(async () => (await readCounter(instance)).count).toBeGreaterThan(3);
  return readCounter(instance);
};

export const expectOn = async (instance: Instance, since: { count: number; pid: number }): Promise<void> => {
  await expect.poll(async () => (await readCounter(instance)).count).toBeGreaterThan(since.count + 3);
  expect((await readCounter(instance)).pid).toBe(since.pid);
};
