import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { checkDataFolder } from './data-folder.ts';

const mounts = `21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 21 0:30 / /srv rw,nosuid,nodev,noexec,relatime shared:2 - xfs /dev/vdb rw
31 30 0:31 / /srv/in\\040memory rw,relatime shared:3 - tmpfs none rw
32 30 0:32 / /srv/hidden rw,noexec - ext4 /dev/vdc rw
33 32 0:33 / /srv/hidden rw,relatime - btrfs /dev/vdd rw
`;

describe('the mount of a data folder', () => {
  it.each(['/var/lib/skerry', '/', '/srv2', '/srv/hidden/skerry'])('is accepted at %s', (folder) => {
    expect(checkDataFolder(folder, mounts)).toBeUndefined();
  });

  it('is reported where programs cannot be run from it', () => {
    expect(checkDataFolder('/srv/skerry', mounts)).toMatchObject({
      ok: false,
      needed: false,
      mend: 'mount -o remount,exec /srv',
    });
  });

  it('is reported where it is in memory', () => {
    expect(checkDataFolder('/srv/in memory/skerry', mounts)?.found).toContain('/srv/in memory is memory');
  });

  it('is read from this host', () => {
    expect(() => checkDataFolder(realpathSync(tmpdir()))).not.toThrow();
  });
});
