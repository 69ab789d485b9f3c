import type { LayerEntry } from '../../oci/testing/loopback-registry.ts';
import { baseRecipes } from '../recipe.ts';

/** A layer that has every file a minimal base template must have, so that nothing has to be installed. */
export const completeLayer: readonly LayerEntry[] = [
  ...Object.values(baseRecipes.minimal.packages).map((name) => ({ name, content: '#!', mode: 0o755 })),
  {
    name: 'etc/passwd',
    content: 'root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n',
  },
  { name: 'etc/group', content: 'root:x:0:\nubuntu:x:1000:\n' },
  { name: 'etc/shadow', content: 'root:*:1::::::\nuser:secret:1::::::\n', mode: 0o640, gid: 42 },
  { name: 'etc/skel/.profile', content: 'skel', mode: 0o600 },
  { name: 'etc/machine-id', content: 'unique' },
  { name: 'etc/motd', content: 'Welcome!' },
  { name: 'etc/resolv.conf', type: 'symlink', linkname: '/run/resolver/stub.conf' },
  { name: 'etc/ssh/ssh_host_ed25519_key', content: 'secret' },
  { name: 'etc/dpkg/' },
  { name: 'usr/share/doc/tool/copyright', content: 'licence' },
  { name: 'usr/share/doc/tool/changelog.gz', content: 'long' },
  { name: 'usr/share/man/man1/tool.1.gz', content: 'long' },
  { name: 'var/lib/apt/lists/partial/', uid: 100, mode: 0o700 },
  { name: 'var/lib/apt/lists/some.list', content: 'old' },
  { name: 'tmp/left', content: 'x' },
];
