import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { expect } from 'vitest';
import { startStack } from '../stack/stack.ts';
import { makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { attackFromOutside } from './attack.ts';

/** An apt that looks around instead of installing. */
const apt = `#!/bin/sh
[ "$1" = install ] || exit 0
cat /proc/self/uid_map > /root/ids
cat /proc/net/tcp > /root/sockets
mount -t tmpfs none /mnt 2> /root/mounted
echo done >> /root/runs
`;

attackFromOutside(
  'running a program of the image of --base-image on the host, or in its network',
  'a sandbox, in which the packages that the image lacks are installed',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'skerry-hostile-base-'));
    const host = createServer().listen(0);
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo;
    const folder = makeBusyboxFolder([...['sh', 'cat', 'id', 'mount', 'rm', 'find', 'truncate', 'mkdir']]);
    for (const name of ['mnt', 'usr', 'usr/bin']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'usr/bin/apt-get'), apt, { mode: 0o755 });
    await using registry = await startDebianRegistry();
    await registry.push('base', { folder });
    const images = join(dir, 'images');
    const args = ['--no-memory', '--images', images, '--base-image', `${registry.host}/base`];
    try {
      await using stack = await startStack({ dataDir: join(dir, 'data'), args });
      const sandbox = await Sandbox.create(stack.connection);
      const read = async (name: string) =>
        (await sandbox.files.read(`/root/${name}`, { user: 'root' })).trim();
      expect(await read('runs')).toBe('done');
      expect(await read('ids')).not.toMatch(/^0\s+0\s/);
      // Nothing that listens on the host is in its network.
      expect(await read('sockets')).not.toContain(
        `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`,
      );
      expect(await read('mounted')).not.toBe('');
      await sandbox.kill();
      // The incomplete image is gone, and the next start uses what this one has made.
      expect(readdirSync(images).filter((name) => /^(\.|sha256-)/.test(name))).toHaveLength(1);
      await stack.stop();
      await using again = await startStack({ dataDir: join(dir, 'data'), args });
      const other = await Sandbox.create(again.connection);
      expect((await other.files.read('/root/runs', { user: 'root' })).trim()).toBe('done');
    } finally {
      host.close();
      rmSync(dir, { recursive: true, force: true });
      rmSync(folder, { recursive: true });
    }
  },
);
