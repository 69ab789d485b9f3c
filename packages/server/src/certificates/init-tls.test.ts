import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { makeServerCertificate } from '@skerry/runtime/node-certificates';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { initTls } from './init-tls.ts';
import { readAuthority, writeCertificates } from './write-certificates.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-init-tls-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const init = ({ domain = 'boxes.test', renew = false } = {}) => initTls({ dir, domain, days: 30, renew });

/** What a client that trusts the authority sees of a server with the certificate at that name; the code of its error otherwise. */
const callAs = async (servername: string, pair: { cert: string | Buffer; key: string | Buffer }) => {
  const server = createServer(pair).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, servername, ca: readFileSync(join(dir, 'ca.crt')) });
  try {
    await once(socket, 'secureConnect');
    return 'trusted';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Node has no code for this one.
    return code === 'UNSPECIFIED' ? message : code;
  } finally {
    socket.destroy();
  }
};

describe('the certificate for a domain', () => {
  it('is trusted for the domain and the names one level below, by those who trust the authority', async () => {
    const files = await init();
    const pair = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
    for (const name of ['boxes.test', 'api.boxes.test', '3000-i1.boxes.test'])
      expect(await callAs(name, pair)).toBe('trusted');
    expect(await callAs('other.test', pair)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(statSync(files.key).mode & 0o777).toBe(0o600);
  });

  it('comes from an authority whose certificates for other domains clients refuse', async () => {
    await init();
    const authority = readAuthority(dir);
    if (authority === undefined) throw new Error('there is no authority');
    const stolen = await makeServerCertificate('bank.test', { authority, days: 1 });
    expect(await callAs('bank.test', stolen)).toBe('permitted subtree violation');
  });

  it('is replaced with --renew alone, and the authority stays', async () => {
    const first = await init();
    const authority = readFileSync(first.authority, 'utf8');
    const before = readFileSync(first.cert, 'utf8');
    await expect(init()).rejects.toThrow('is there already: give --renew to replace it');
    await init({ renew: true });
    expect(readFileSync(first.cert, 'utf8')).not.toBe(before);
    expect(readFileSync(first.authority, 'utf8')).toBe(authority);
  });

  it('is refused with the authority of another domain, whose certificates for this one clients refuse', async () => {
    await init();
    await expect(init({ domain: 'other.test', renew: true })).rejects.toThrow('is for another domain');
  });

  it('is refused with an authority whose domain differs at its end alone, and with that of nodes', async () => {
    const long = `${'a'.repeat(60)}.boxes`;
    await init({ domain: `${long}.one.test` });
    await expect(init({ domain: `${long}.two.test`, renew: true })).rejects.toThrow('is for another domain');
    rmSync(dir, { recursive: true });
    await writeCertificates({ dir, names: ['a'], days: 30, renew: false });
    await expect(init({ domain: 'nodes' })).rejects.toThrow('or for nodes');
  });

  it.each(['boxes.test:443', 'Boxes.test', 'a b', '', '-x', 'a..b'])(
    'is not made for "%s"',
    async (domain) => {
      await expect(init({ domain })).rejects.toThrow('is no domain');
    },
  );
});
