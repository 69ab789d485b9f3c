import type { IsolationLevel } from '@skerry/contract/isolation';
import { afterAll, beforeAll, vi } from 'vitest';
import { portScenario, type Scheme, signedUrlScenario } from './addresses.ts';
import type { E2b, TestedClient } from './clients.ts';
import { commandsScenario } from './commands.ts';
import { earlyBuildsScenario } from './early-builds.ts';
import { filesScenario } from './files.ts';
import { newestForkingScenario } from './forking.ts';
import type { Given } from './given.ts';
import { middleScenario, newestScenario } from './later-features.ts';
import { lifecycleScenario } from './lifecycle.ts';
import { newestPausingScenario, pausingScenario } from './pausing.ts';
import { privatePortScenario } from './private-ports.ts';
import { snapshotsScenario } from './snapshots.ts';
import { templatesScenario } from './templates.ts';
import { terminalAttachScenario, terminalsScenario } from './terminals.ts';

/** Registers the tests of everything that a program does with the client, told where skerry is by its environment alone. */
export function e2bProgram({
  client,
  scheme,
  environment,
  at,
  further,
}: {
  client: TestedClient;
  scheme: Scheme;
  environment: () => Record<string, string>;
  /** The template of sandboxes whose create names none, as a subclass of the client sets it, and its level. Absent: those of the server. */
  at?: { template: string; isolation: IsolationLevel };
  /** Absent: only what depends on the way that the calls take. Builds are left out without an image in a registry. */
  further?: { askImage?: () => string };
}): void {
  let given: Given;
  beforeAll(async () => {
    for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
    const loaded = (await client.load()) as E2b;
    const e2b = at === undefined ? loaded : withTemplate(loaded, at.template);
    const { template, isolation } = at ?? { template: 'base', isolation: 'container' };
    given = { client, e2b, template, isolation, sandbox: await e2b.Sandbox.create() };
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
  // The oldest has no option for them.
  if (client.generation !== 'oldest') privatePortScenario(ask, scheme);
  signedUrlScenario(ask, scheme);
  if (further === undefined) return;
  pausingScenario(ask);
  const { askImage } = further;
  if (client.generation === 'oldest') {
    if (askImage) earlyBuildsScenario(ask, askImage);
    return;
  }
  middleScenario(ask);
  snapshotsScenario(ask);
  if (askImage) templatesScenario(ask, askImage);
  terminalAttachScenario(ask);
  if (client.generation === 'middle') return;
  newestScenario(ask);
  newestPausingScenario(ask);
  newestForkingScenario(ask);
}

const withTemplate = (e2b: E2b, template: string): E2b => {
  const Sandbox = class extends e2b.Sandbox {
    protected static override readonly defaultTemplate: string = template;
  };
  return { ...e2b, Sandbox };
};
