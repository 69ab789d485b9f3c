import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLayerSink } from '../layer-sink.ts';
import { pullImage } from '../pull.ts';
import { type LoopbackRegistry, makeTar, startLoopbackRegistry } from '../testing/loopback-registry.ts';
import { readAttributes } from '../testing/read-attributes.ts';

let folder = '';
let rootfs = '';
let registry: LoopbackRegistry;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-attributes-'));
  rootfs = join(folder, 'rootfs');
  registry = await startLoopbackRegistry();
});
afterEach(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

it('a pull keeps each byte of attributes of users and file capabilities, and drops all others', async () => {
  // cap_setuid=ep in the layout of struct vfs_cap_data. Archives are made of text, which has no such byte.
  const capability = Buffer.from('0100000280000000000000000000000000000000', 'hex');
  const placeholder = '#'.repeat(capability.length);
  const tar = await makeTar([
    {
      name: 'a b\\c-ö\n',
      content: 'x',
      pax: {
        'SCHILY.xattr.user.mark': 'some välue',
        'SCHILY.xattr.user.none': '',
        'SCHILY.xattr.user.ma\\rk': 'y',
        'SCHILY.xattr.user.overlay.opaque': 'y',
        'SCHILY.xattr.trusted.overlay.opaque': 'y',
        'SCHILY.xattr.security.selinux': 'system_u:object_r:bin_t:s0',
        'SCHILY.xattr.system.posix_acl_access': placeholder,
        'SCHILY.xattr.security.capability': placeholder,
      },
    },
  ]);
  const bytes = tar.toString('latin1').replaceAll(placeholder, capability.toString('latin1'));
  registry.addImage('v1', [registry.addBlob(Buffer.from(bytes, 'latin1'))]);
  const reference = `${registry.host}/some/image:v1`;
  await pullImage({ reference, tree: createLayerSink(rootfs), onProgress: () => undefined });
  expect(readAttributes(join(rootfs, 'a b\\c-ö\n'))).toEqual({
    'security.capability': `0s${capability.toString('base64')}`,
    'user.mark': `0s${Buffer.from('some välue').toString('base64')}`,
    'user.none': '0s',
  });
});
