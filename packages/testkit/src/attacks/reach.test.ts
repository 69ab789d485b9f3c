import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { connectToAll } from './connect-to-all.ts';
import { attackers } from './run-python.ts';

const ranges = {
  'the metadata service of a cloud': [
    '169.254.169.254:80',
    '168.63.129.16:80',
    '100.100.100.200:80',
    '192.0.0.192:80',
  ],
  'a private network': ['10.0.0.1:80', '172.16.0.1:80', '192.168.0.1:80', '10.201.0.1:80'],
  'a network of providers': ['100.64.0.1:80'],
  'a network for documentation or tests': [
    '192.0.2.1:80',
    '198.18.0.1:80',
    '198.51.100.1:80',
    '203.0.113.1:80',
    '192.88.99.1:80',
  ],
  'a reserved or multicast address': ['0.1.2.3:80', '224.0.0.1:80', '240.0.0.1:80'],
} as const;

const listen = async (accepted: string[]): Promise<{ server: Server; port: number }> => {
  const server = createServer((socket) => {
    accepted.push(socket.remoteAddress ?? '');
    socket.end('host');
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address ? address.port : 0 };
};

const hostAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

atEachLevel(({ open, server: findServer, attack }) => {
  attack(
    'connecting to the host, its neighbours, other sandboxes and addresses that are not public',
    'rules of nftables in the sandbox, on its link and on the host',
    async (report) => {
      const [one, other] = await Promise.all([open(), open()]);
      const own = `python3 -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('198.41.0.4', 53)); print(s.getsockname()[0])"`;
      const theirs = (await other.commands.run(own)).stdout.trim();
      await other.commands.run('exec python3 -m http.server 7000', { background: true, timeoutMs: 0 });
      await expect
        .poll(
          async () =>
            (await other.commands.run('curl -s -o /dev/null http://127.0.0.1:7000 && echo up || true'))
              .stdout,
        )
        .toBe('up\n');
      const accepted: string[] = [];
      const { server, port } = await listen(accepted);
      try {
        const api = new URL(findServer().address.apiUrl).port;
        const targets = [
          ...hostAddresses().flatMap((address) => [
            `${address}:${port}`,
            `${address}:${api}`,
            `${address}:22`,
          ]),
          ...[`${theirs}:7000`, `${theirs}:49983`],
          ...Object.values(ranges).flat(),
        ];
        for (const user of attackers) {
          const found = await connectToAll(one, user, targets);
          expect(Object.entries(found).filter(([, outcome]) => outcome === 'reached')).toEqual([]);
        }
        // A listener that something could have reached.
        expect(accepted).toEqual([]);
      } finally {
        server.close();
      }
      for (const what of Object.keys(ranges))
        report({ attack: `connecting to ${what}`, stoppedBy: 'rules of nftables' });
    },
  );
});
