import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findResolvers, toResolvConf } from './resolvers.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'resolv-'));
});
afterEach(() => rm(dir, { recursive: true }));

const write = async (name: string, text: string): Promise<string> => {
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
};

describe('resolvers', () => {
  it('takes the IPv4 servers of the host, at most three, without its search domains', async () => {
    const file = await write(
      'resolv.conf',
      '# nameserver 9.9.9.9\nsearch corp.example\nnameserver 192.0.2.1\nnameserver fd00::1\nnameserver 192.0.2.1\nnameserver 192.0.2.2 \nnameserver 192.0.2.3\nnameserver 192.0.2.4\n',
    );
    expect(toResolvConf(findResolvers([file]))).toBe(
      'nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n',
    );
  });

  it('reads the real servers where resolv.conf names a stub on loopback', async () => {
    const stub = await write('stub', 'nameserver 127.0.0.53\noptions edns0\n');
    const real = await write('real', 'nameserver 198.51.100.7\n');
    expect(findResolvers([stub, join(dir, 'missing'), real])).toEqual(['198.51.100.7']);
  });

  it('returns no server rather than one that cannot be reached', async () => {
    const stub = await write('stub', 'nameserver 127.0.0.1\nnameserver not-an-address\n');
    expect(findResolvers([stub])).toEqual([]);
    expect(toResolvConf([])).toBe('');
  });
});
