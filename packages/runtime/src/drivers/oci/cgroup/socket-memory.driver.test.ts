import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Runtime } from '../../../runtime.ts';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { runInside } from '../../../suite/client.ts';
import { prepareSuiteRootfs } from '../../../suite/rootfs.ts';
import type { OciRuntimeName } from '../container/oci-runtime.ts';
import { createOci } from '../oci.ts';
import { readCgroupLayout } from './cgroup.ts';
import { toCgroupParent } from './cgroup-parent.ts';
import { toSocketBytes } from './socket-memory.ts';

const MIB = 2 ** 20;
const limits = { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 64 * MIB, processCount: 64 };

/** Sends on connections to itself whose other end reads nothing, and prints how many MiB were taken. */
const program = `
import socket, time
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1000)
taken, kept, piece = 0, [], b"x" * 65536
for count in range(200):
    one = socket.create_connection(server.getsockname()); two, _ = server.accept()
    kept += [one, two]
    for end in (one, two):
        end.setblocking(False)
        try:
            while taken < 192 * 2**20: taken += end.send(piece)
        except BlockingIOError: pass
for count in range(300):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind(("127.0.0.1", 0)); kept.append(one)
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); other.setblocking(False); kept.append(other)
    for turn in range(20):
        try: other.sendto(piece[:60000], one.getsockname())
        except OSError: pass
print(taken // 2**20, flush=True)
time.sleep(100)
`;

import { CLOSED_NETWORK } from '../../../network/policy.ts';

let base: string;
let agentDir: string;
let rootfs: string;
const opened: Runtime[] = [];
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'runtime-sockets-'));
  [agentDir, rootfs] = await Promise.all([prepareSuiteAgent(base), prepareSuiteRootfs()]);
});
afterAll(async () => {
  for (const runtime of opened) {
    for await (const instance of runtime.list()) await instance.stop();
    await runtime.close();
  }
  await rm(base, { recursive: true, force: true });
});

it.each<OciRuntimeName>(['crun', 'runc'])(
  'unread data takes memory of the sandbox, or a small part beside it, and the agent answers on: %s',
  async (ociRuntime) => {
    const dataDir = join(base, ociRuntime);
    const runtime = createOci({ dataDir, agentDir, ociRuntime });
    opened.push(runtime);
    const id = `sockets${process.pid}${ociRuntime}`;
    const network = CLOSED_NETWORK;
    const instance = await runtime.create({ id, rootfs, hostname: 'box', limits, network });
    const script = `cat > /root/p.py <<'END'${program}END
python3 /root/p.py > /root/taken 2>&1 &
while ! [ -s /root/taken ]; do sleep 0.1; done; cat /root/taken`;
    // Without a bound it is 192: as much as is sent.
    const taken = Number((await runInside(instance, script)).output);
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(96);
    if (readCgroupLayout().version === 1) {
      const folder = `/sys/fs/cgroup/memory/${toCgroupParent(dataDir)}/${id}`;
      const read = (name: string) => Number(readFileSync(`${folder}/memory.kmem.tcp.${name}`, 'utf8'));
      expect(read('limit_in_bytes')).toBe(toSocketBytes(limits));
      // Unread data of UDP counts, too. What is received beyond the limit is dropped; each socket may have
      // one piece all the same.
      expect(read('usage_in_bytes')).toBeGreaterThan(toSocketBytes(limits) / 2);
      expect(read('usage_in_bytes')).toBeLessThan(toSocketBytes(limits) * 3);
    }
    expect((await runInside(instance, 'echo on')).output).toBe('on\n');
  },
);
