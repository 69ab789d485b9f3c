// Clients of the kind of Python's e2b package over TLS that the server speaks itself, on names below its domain.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '../stack/find-free-port.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeTrustedCertificate, type TrustedCertificate } from './trusted-certificate.ts';

const folder = join(import.meta.dirname, '../release/python');
/** The one for which Debian's packages are. */
const python = '/usr/bin/python3';

let certificate: TrustedCertificate;
let stack: Stack;
let domain: string;
beforeAll(async () => {
  certificate = makeTrustedCertificate('skerry.test');
  const port = await findFreePort();
  domain = `skerry.test:${port}`;
  stack = await startStack({ args: ['--port', String(port), '--domain', domain, ...certificate.args] });
});
afterAll(async () => {
  await stack?.down();
  certificate[Symbol.dispose]();
});

/** Runs a program with the client, and resolves with what it printed. Rejects with that when it fails. */
const run = (argv: readonly string[], env: Record<string, string> = {}) =>
  promisify(execFile)(python, ['-B', '-W', 'ignore', join(folder, 'on_loopback.py'), ...argv], {
    env: {
      ...{ PATH: process.env.PATH, PYTHONPATH: folder, PYTHONUTF8: '1', SSL_CERT_FILE: certificate.certFile },
      ...{ E2B_API_KEY: stack.address.apiKey, E2B_DOMAIN: domain, ...env },
    },
  });

describe('a client in Python', () => {
  it.each(['HTTP/2', 'HTTP/1.1'])(
    'does what a program does over %s, on the names of API and sandboxes',
    { timeout: 120_000 },
    async (version) => {
      const { stderr } = await run([join(folder, 'scenario.py'), '-v'], { HTTP_VERSION: version });
      const ended = [...stderr.matchAll(/^test_\w+ .*\.\.\. (.*)$/gm)].map(([, how]) => how);
      expect(ended).toHaveLength(12);
      expect(new Set(ended)).toEqual(new Set(['ok']));
    },
  );

  it('has a hundred streams open at a time on one connection', { timeout: 120_000 }, async () => {
    const { stdout } = await run([join(folder, 'streams.py')]);
    expect(JSON.parse(stdout)).toEqual({ versions: ['HTTP/2'], same: 100, open: 100, after: 204 });
  });
});
