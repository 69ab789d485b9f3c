import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { testedClients } from './clients.ts';
import { resolveToLoopback } from './loopback-names.ts';
import { e2bProgram } from './program.ts';
import { startTlsFront, type TlsFront } from './tls-front.ts';

describe('behind host names with TLS', () => {
  let stack: Stack;
  let front: TlsFront;
  let registry: DebianRegistry;
  const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'sleep', 'mkdir', 'chown']);
  let forget: () => void;
  beforeAll(async () => {
    forget = resolveToLoopback('skerry.test');
    front = await startTlsFront('skerry.test');
    registry = await startDebianRegistry();
    await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
    stack = await startStack({ args: ['--domain', front.domain, '--registry', registry.host] });
    front.forwardTo(Number(new URL(stack.address.apiUrl).port));
  });
  afterAll(async () => {
    await front.close();
    await stack.down();
    await registry[Symbol.asyncDispose]();
    rmSync(busybox, { recursive: true, force: true });
    forget();
  });

  describe.each(testedClients)('e2b $version, given E2B_DOMAIN,', (client) => {
    e2bProgram({
      client,
      scheme: 'https',
      environment: () => ({ E2B_API_KEY: stack.address.apiKey, E2B_DOMAIN: front.domain }),
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

  describe.each(testedClients.filter(({ takesUrls }) => takesUrls))(
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

describe('the releases driven here', () => {
  it.each(['README.md', 'docs/e2b-clients.md'])('are those that %s names', (path) => {
    const page = readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8').replaceAll('\n', ' ');
    const [oldest, middle, newest] = testedClients.map(({ version }) => version);
    expect(page).toContain(`${oldest}, ${middle} and ${newest}`);
  });
});
