import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe } from 'vitest';
import { makeTrustedCertificate, type TrustedCertificate } from '../secure/trusted-certificate.ts';
import { findFreePort } from '../stack/find-free-port.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import type { TestedClient } from './clients.ts';
import { resolveToLoopback } from './loopback-names.ts';
import { e2bProgram } from './program.ts';

/** Declares the tests of these releases, by each way in which a client can be given the address of a server. */
export function driveClients(clients: readonly TestedClient[]): void {
  describe('on host names with TLS', () => {
    let stack: Stack;
    let domain: string;
    let certificate: TrustedCertificate;
    let registry: DebianRegistry;
    const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'sleep', 'mkdir', 'chown']);
    let forget: () => void;
    beforeAll(async () => {
      forget = resolveToLoopback('skerry.test');
      certificate = makeTrustedCertificate('skerry.test');
      const port = await findFreePort();
      domain = `skerry.test:${port}`;
      registry = await startDebianRegistry();
      await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
      const args = ['--port', String(port), '--domain', domain, ...certificate.args];
      stack = await startStack({ args: [...args, '--registry', registry.host] });
    });
    afterAll(async () => {
      await stack.down();
      certificate[Symbol.dispose]();
      await registry[Symbol.asyncDispose]();
      rmSync(busybox, { recursive: true, force: true });
      forget();
    });

    describe.each(clients)('e2b $version, given E2B_DOMAIN,', (client) => {
      e2bProgram({
        client,
        scheme: 'https',
        environment: () => ({ E2B_API_KEY: stack.address.apiKey, E2B_DOMAIN: domain }),
        further: { askImage: () => `${registry.host}/test/busybox` },
      });
    });
  });

  describe('on one plain address', () => {
    let stack: Stack;
    let forget: () => void;
    beforeAll(async () => {
      forget = resolveToLoopback('localhost');
      stack = await startStack();
    });
    afterAll(async () => {
      await stack.down();
      forget();
    });

    describe.each(clients.filter(({ takesUrls }) => takesUrls))(
      'e2b $version, given E2B_API_URL and E2B_SANDBOX_URL,',
      (client) => {
        e2bProgram({
          client,
          scheme: 'http',
          environment: () => ({
            E2B_API_KEY: stack.address.apiKey,
            E2B_API_URL: stack.address.apiUrl,
            E2B_SANDBOX_URL: stack.address.sandboxUrl,
          }),
        });
      },
    );
  });
}
