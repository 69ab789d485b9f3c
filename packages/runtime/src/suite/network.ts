import { createServer, type Server } from 'node:net';
import { describe, expect, it } from 'vitest';
import { CLOSED_NETWORK, OPEN_NETWORK } from '../network/policy.ts';
import type { Instance } from '../runtime.ts';
import { listInterfaces, runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';

/** What code inside can reach. */
export const networkSuite = (host: SuiteHost): void => {
  describe('network', () => {
    it('has only loopback without internet', async () => {
      const instance = await host.create();
      const { output } = await runInside(instance, `${listInterfaces}; cat /proc/net/route`);
      expect(output.split('\n')[0]).toBe('lo');
      expect(output.trim().split('\n')).toHaveLength(2);
    });

    it('keeps a policy that is replaced while it runs, also over a pause', async () => {
      const instance = await host.create({ network: OPEN_NETWORK });
      await instance.setNetwork(CLOSED_NETWORK);
      await instance.setNetwork(CLOSED_NETWORK);
      await instance.pause({ memory: false });
      await expect(instance.setNetwork(OPEN_NETWORK)).rejects.toMatchObject({ code: 'unavailable' });
      await instance.resume();
      const { output } = await runInside(instance, listInterfaces);
      expect(output.trim()).toBe('lo');
    });

    it('reaches neither the host nor another sandbox', async () => {
      const network = OPEN_NETWORK;
      const [one, other] = await Promise.all([host.create({ network }), host.create({ network })]);
      const accepted: string[] = [];
      const server = createServer((socket) => {
        accepted.push(socket.remoteAddress ?? '');
        socket.end('reached');
      });
      const port = await listen(server);
      try {
        const address = async (instance: typeof one): Promise<{ own: string; gateway: string }> => {
          const { output } = await runInside(
            instance,
            `LD_LIBRARY_PATH=/.envd/lib /.envd/node -p 'require("os").networkInterfaces().eth0[0].address'; cat /proc/net/route`,
          );
          const hex = /^eth0\t00000000\t([0-9A-F]{8})/m.exec(output)?.[1] ?? '';
          const gateway = [...Buffer.from(hex, 'hex')].reverse().join('.');
          return { own: output.split('\n')[0] ?? '', gateway };
        };
        const theirs = await address(other);
        const ours = await address(one);
        const listener = `require('net').createServer((s) => s.end('reached')).listen(7000)`;
        await runInside(
          other,
          `LD_LIBRARY_PATH=/.envd/lib setsid /.envd/node -e "${listener}" >/dev/null 2>&1 </dev/null & sleep 0.4`,
        );
        expect(await tryConnect(other, '127.0.0.1', 7000)).toContain('reached');
        for (const [address, target] of [
          [theirs.own, 7000],
          [ours.gateway, port],
          ['169.254.169.254', 80],
          ['10.0.0.1', 80],
        ] as const) {
          expect(await tryConnect(one, address, target)).not.toContain('reached');
        }
        expect(accepted).toEqual([]);
      } finally {
        server.close();
      }
    });
  });
};

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '0.0.0.0', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });

const tryConnect = async (instance: Instance, address: string, port: number): Promise<string> => {
  const script = `const s = require('net').connect(${port}, '${address}'); s.setTimeout(1500, () => s.destroy(new Error('timeout'))); s.on('data', (d) => console.log(String(d))); s.on('error', (e) => console.log(e.code || e.message))`;
  const { output } = await runInside(instance, `LD_LIBRARY_PATH=/.envd/lib /.envd/node -e "${script}"`);
  return output;
};
