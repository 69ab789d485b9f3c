// The newest official client, which knows no levels, on one server with a template that demands each.
import { rmSync } from 'node:fs';
import { isolationLevels } from '@skerry/contract/isolation';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { testedClients } from './clients.ts';
import { resolveToLoopback } from './loopback-names.ts';
import { e2bProgram } from './program.ts';

let stack: Stack;
let registry: DebianRegistry;
let forget: () => void;
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'sleep', 'mkdir', 'chown']);
beforeAll(async () => {
  forget = resolveToLoopback('localhost');
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ args: ['--registry', registry.host] });
  for (const isolation of isolationLevels)
    await build(Template().fromTemplate('base'), `at-${isolation}`, {
      ...stack.connection,
      isolation,
    }).result();
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  rmSync(busybox, { recursive: true, force: true });
  forget();
});

const newest = testedClients.filter(({ generation }) => generation === 'newest');

describe.each(isolationLevels)('at level %s', (isolation) => {
  describe.each(newest)('e2b $version', (client) => {
    e2bProgram({
      client,
      scheme: 'http',
      environment: () => ({
        E2B_API_KEY: stack.address.apiKey,
        E2B_API_URL: stack.address.apiUrl,
        E2B_SANDBOX_URL: stack.address.sandboxUrl,
      }),
      at: { template: `at-${isolation}`, isolation },
      further: { askImage: () => `${registry.host}/test/busybox` },
    });
    it('has had sandboxes of that level alone', async () => {
      const { data = [] } = await stack.api.GET('/v2/sandboxes', {});
      const levels = data.map((sandbox) => sandbox.isolation);
      expect([...new Set(levels)]).toEqual([isolation]);
    });
  });
});
