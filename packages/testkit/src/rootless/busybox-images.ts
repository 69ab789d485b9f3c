import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeArchive } from '../templates/archive.ts';
import { type DebianRegistry, makeBusyboxFolder } from '../templates/debian-registry.ts';

/** Pushes `test/busybox`, an image with folders to remove and to replace. */
export const pushBusybox = async (registry: DebianRegistry): Promise<void> => {
  const folder = makeBusyboxFolder([
    'sh',
    'cat',
    'chmod',
    'chown',
    'ls',
    'mkdir',
    'rm',
    'sleep',
    'stat',
    'test',
  ]);
  for (const name of ['gone', 'replaced']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'old'), 'old');
  }
  await registry.push('test/busybox', { folder, env: ['PATH=/bin', 'COLOUR=blue'] });
  rmSync(folder, { recursive: true });
};

/** What `docker save` writes of an image with busybox, a hard link and a file capability. */
export const makeDockerArchive = async (): Promise<Buffer<ArrayBuffer>> => {
  const owned = { uid: 1234, gid: 65_535 };
  const capability = `\u0001\0\0\u0002\0\u0004${'\0'.repeat(14)}`;
  const layer = await makeArchive([
    { name: 'bin/busybox', mode: 0o755, content: readFileSync('/bin/busybox') as never },
    ...['sh', 'stat'].map((name) => ({
      name: `bin/${name}`,
      type: 'symlink' as const,
      linkname: 'busybox',
    })),
    { name: 'srv/one', mode: 0o4750, content: 'one', ...owned },
    { name: 'srv/two', type: 'link', linkname: 'srv/one' },
    { name: 'srv/able', content: 'a', pax: { 'SCHILY.xattr.security.capability': capability } },
  ]);
  const diffId = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
  const config = { config: { Env: ['PATH=/bin'] }, rootfs: { diff_ids: [diffId] } };
  return makeArchive([
    { name: 'layer.tar', content: layer as never },
    { name: 'config.json', content: JSON.stringify(config) },
    {
      name: 'manifest.json',
      content: JSON.stringify([{ Config: 'config.json', Layers: ['layer.tar'] }]),
    },
  ]);
};
