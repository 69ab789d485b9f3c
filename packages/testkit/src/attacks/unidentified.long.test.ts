import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { NODE_PORT } from '../cluster/cluster.ts';
import { startDatabaseCluster } from '../cluster/database-cluster.ts';
import type { Service } from '../cluster/service.ts';
import { attackFromOutside } from './attack.ts';

/**
 * Opens connections that begin a handshake and never finish it, a hundred at a time, waits, and prints how many the other side still
 * holds.
 */
const holder = `
import socket, sys, time
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
half = bytes.fromhex("1603010200010001fc0303")
held = []
while len(held) < count:
    more = [socket.create_connection((host, port)) for _ in range(100)]
    for one in more: one.send(half)
    held += more
time.sleep(1)
def is_open(one):
    one.setblocking(False)
    try:
        while one.recv(999): pass
        return False
    except BlockingIOError: return True
    except OSError: return False
print(sum(is_open(one) for one in held))
`;

/** The memory of a service's own process. */
const readMemoryMb = (service: Service): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024;

const countLines = (service: Service, text: string): number => service.log().split(text).length - 1;

attackFromOutside(
  'taking every connection of the ports for nodes, servers and metrics without a certificate',
  'bounds of unidentified connections, and a time limit for each',
  async () => {
    const running = await startDatabaseCluster({ nodes: ['a'] });
    try {
      const { cluster } = running;
      const server = cluster.replicas[0];
      if (server === undefined) throw new Error('the cluster has no server');
      const hold = async (machine: string, address: string, count: number): Promise<number> => {
        const [file = '', ...before] = cluster.lab.host(machine).through;
        const [host = '', port = ''] = address.split(':');
        const args = [
          ...before,
          'prlimit',
          '--nofile=9999',
          'python3',
          '-c',
          holder,
          host,
          port,
          String(count),
        ];
        return Number((await promisify(execFile)(file, args)).stdout);
      };
      const node = cluster.node('a');
      const before = [readMemoryMb(node), readMemoryMb(server.service())];
      const nodeAddress = `${cluster.lab.host('a').address}:${NODE_PORT}`;
      expect(await hold(server.machine, nodeAddress, 4_000)).toBeLessThanOrEqual(768);
      expect(await hold('a', server.peerAddress, 4_000)).toBeLessThanOrEqual(768);
      expect(await hold('a', '127.0.0.1:9100', 200)).toBeLessThanOrEqual(32);
      const after = [readMemoryMb(node), readMemoryMb(server.service())];
      const grownMb = after.map((memory, index) => memory - (before[index] ?? 0));
      for (const grown of grownMb) expect(grown).toBeLessThan(300);
      for (const service of [node, server.service()])
        expect(countLines(service, 'too many unidentified connections to the port for')).toBeLessThanOrEqual(
          2,
        );
      const { sandboxId } = await cluster.createSandbox();
      expect(await cluster.nodeOf(sandboxId)).toBe('a');
    } finally {
      await running.close();
    }
  },
);
