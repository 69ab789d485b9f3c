import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { portScenario, type Scheme, signedUrlScenario } from './addresses.ts';
import { type E2b, type TestedClient, testedClients } from './clients.ts';
import { commandsScenario } from './commands.ts';
import { earlyBuildsScenario } from './early-builds.ts';
import { filesScenario } from './files.ts';
import { newestForkingScenario } from './forking.ts';
import type { Given } from './given.ts';
import { middleScenario, newestScenario } from './later-features.ts';
import { lifecycleScenario } from './lifecycle.ts';
import { resolveToLoopback } from './loopback-names.ts';
import { newestPausingScenario, pausingScenario } from './pausing.ts';
import { snapshotsScenario } from './snapshots.ts';
import { templatesScenario } from './templates.ts';
import { terminalAttachScenario, terminalsScenario } from './terminals.ts';
import { startTlsFront, type TlsFront } from './tls-front.ts';

/** Everything that a program does with the client, told where skerry is by its environment alone. */
function program(
  client: TestedClient,
  scheme: Scheme,
  environment: () => Record<string, string>,
  askImage?: () => string,
) {
  let given: Given;
  beforeAll(async () => {
    for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
    const e2b = (await client.load()) as E2b;
    given = { client, e2b, sandbox: await e2b.Sandbox.create() };
  });
  afterAll(async () => {
    await given.sandbox.kill().finally(() => vi.unstubAllEnvs());
  });
  const ask = (): Given => given;
  lifecycleScenario(ask);
  commandsScenario(ask);
  terminalsScenario(ask);
  filesScenario(ask);
  portScenario(ask, scheme);
  signedUrlScenario(ask, scheme);
  // What follows does not depend on the way that the calls take.
  if (askImage === undefined) return;
  pausingScenario(ask);
  if (client.generation === 'oldest') {
    earlyBuildsScenario(ask, askImage);
    return;
  }
  middleScenario(ask);
  snapshotsScenario(ask);
  templatesScenario(ask, askImage);
  terminalAttachScenario(ask);
  if (client.generation === 'middle') return;
  newestScenario(ask);
  newestPausingScenario(ask);
  newestForkingScenario(ask);
}

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
    program(
      client,
      'https',
      () => ({ E2B_API_KEY: stack.address.apiKey, E2B_DOMAIN: front.domain }),
      () => `${registry.host}/test/busybox`,
    );
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
      program(client, 'http', () => ({
        E2B_API_KEY: stack.address.apiKey,
        E2B_API_URL: stack.address.apiUrl,
        E2B_SANDBOX_URL: stack.address.sandboxUrl,
      }));
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
