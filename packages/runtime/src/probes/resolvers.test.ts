import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { probeResolvers } from './resolvers.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'probe-resolvers-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('the probe of name servers', () => {
  it('names the servers behind the stub of systemd-resolved', async () => {
    const [stub, real] = [join(dir, 'stub'), join(dir, 'real')];
    await writeFile(stub, 'nameserver 127.0.0.53\n');
    await writeFile(real, 'nameserver 192.0.2.1\n');
    expect(await probeResolvers([stub, real])).toMatchObject({
      ok: true,
      found: 'sandboxes ask 192.0.2.1',
    });
  });

  it('reports that a sandbox can resolve no name where the host has only itself, or IPv6 servers, as name servers', async () => {
    const stub = join(dir, 'stub');
    await writeFile(stub, 'nameserver 127.0.0.53\nnameserver 2001:db8::53\n');
    const result = await probeResolvers([stub, join(dir, 'missing')]);
    expect(result).toMatchObject({ name: 'name servers', ok: false, needed: false });
    expect(result.mend).toContain('/etc/resolv.conf');
  });
});
