import { Sandbox, type SandboxOptions } from '@skerry/sdk';
import { expect } from 'vitest';
import type { Cluster } from '../cluster.ts';

/** Creates a sandbox on that node. */
export const createOn = async (
  cluster: Cluster,
  node: string,
  options: SandboxOptions = {},
): Promise<Sandbox> => {
  const others = Object.keys(await cluster.states()).filter((name) => name !== node);
  await cluster.skerry('node', 'cordon', ...others);
  const sandbox = await Sandbox.create({ ...cluster.connection, timeoutMs: 600_000, ...options });
  await cluster.skerry('node', 'uncordon', ...others);
  expect(await cluster.nodeOf(sandbox.sandboxId)).toBe(node);
  return sandbox;
};

/** Counts in its memory, and what it receives over a connection with itself, and from a watch of its own files. */
const program = `
import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/tmp/watched", exist_ok=True)
watch = libc.inotify_init()
assert libc.inotify_add_watch(watch, b"/tmp/watched", 0x100) >= 0
server = socket.create_server(("127.0.0.1", 5000))
client = socket.create_connection(("127.0.0.1", 5000))
peer, _ = server.accept()
n = 0
while True:
  n += 1
  client.sendall(struct.pack("q", n))
  echoed, = struct.unpack("q", peer.recv(8, socket.MSG_WAITALL))
  name = "/tmp/watched/%d" % n
  open(name, "w").close()
  event = os.read(watch, 4096)
  seen = int(event[16:].rstrip(b"\\0"))
  os.unlink(name)
  open("/tmp/new", "w").write("%d %d %d %d" % (os.getpid(), n, echoed, seen))
  os.rename("/tmp/new", "/tmp/count")
  time.sleep(0.02)
`;

export interface Count {
  pid: number;
  count: number;
}

/** Starts a program that counts, and resolves when it does. */
export const startCounter = async (sandbox: Sandbox): Promise<Count> => {
  await sandbox.files.write('/tmp/counter.py', program);
  await sandbox.commands.run('python3 /tmp/counter.py 2> /tmp/problem', { background: true });
  await expect.poll(() => sandbox.files.exists('/tmp/count')).toBe(true);
  return readCounter(sandbox);
};

/** What it has counted, in all of its ways alike. */
export const readCounter = async (sandbox: Sandbox): Promise<Count> => {
  const [pid = 0, count = 0, echoed = 0, seen = 0] = (await sandbox.files.read('/tmp/count'))
    .split(' ')
    .map(Number);
  expect([echoed, seen]).toEqual([count, count]);
  return { pid, count };
};

/** Resolves when the program counts on from there, and is the same. */
export const expectCounting = async (sandbox: Sandbox, before: Count): Promise<Count> => {
  await expect.poll(async () => (await readCounter(sandbox)).count).toBeGreaterThan(before.count);
  const now = await readCounter(sandbox);
  expect(now.pid).toBe(before.pid);
  return now;
};
