import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Outcome } from '../../testing/test-outcome.ts';
import { run } from '../run.ts';
import { runSteps, type Step } from '../run-steps.ts';
import { startService } from '../start-service.ts';
import { driveCommand, findUses } from './drive-command.ts';
import { type Installed, installCheckout, installRevision } from './install-packages.ts';
import { findLastRelease } from './last-release.ts';
import { upgradeCluster } from './upgrade-cluster.ts';

const driver = join(import.meta.dirname, 'drive-sdk.mjs');

/**
 * Drives a server of this checkout with SDK and command of a revision, by default the last release, and the reverse; then upgrades a cluster of it. What the
 * revision does not have yet is left out, and named. Prints a line for each step. Needs root, as `skerry up` does, and the built packages.
 */
export async function runVersions({ against }: { against?: string | undefined }): Promise<Outcome> {
  const ref = against ?? findLastRelease();
  if (ref === undefined) {
    console.log('skip versions: there is no release yet; --against names a revision');
    return { passed: 0, failures: [], skipped: ['versions > the last release'] };
  }
  const folder = mkdtempSync(join(tmpdir(), 'skerry-versions-'));
  try {
    return await runSteps('versions', (step) => driveBothWays(step, { ref, folder }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function driveBothWays(step: Step, { ref, folder }: { ref: string; folder: string }): Promise<void> {
  const before = await step(`install ${ref}`, () => installRevision(ref, join(folder, 'before')));
  const now = await step('install this checkout', () => installCheckout(join(folder, 'now')));
  if (before === undefined || now === undefined) return;
  const features = await step('find what both have', () => findCommon(before, now));
  if (features === undefined) return;
  for (const [server, client] of [
    [now, before],
    [before, now],
  ] as const) {
    const service = await step(`a server of ${server.name}`, () => startService(server));
    if (service === undefined) continue;
    try {
      const { env } = service;
      for (const feature of features.sdk) {
        await step(`the SDK of ${client.name} with it: ${feature}`, () =>
          run('node', [basename(driver), feature], { cwd: client.folder, env }),
        );
      }
      for (const use of features.command)
        await step(`the command of ${client.name} with it: ${use}`, () => driveCommand(client, { use, env }));
      await step(`the end of the server of ${server.name}`, () => service.down());
    } finally {
      service.kill();
    }
  }
  await upgradeCluster(step, before, now);
}

/** The features of SDK and command of a revision, all of which this checkout must have. */
function findCommon(before: Installed, now: Installed): { sdk: string[]; command: string[] } {
  const [old, current] = [before, now].map((installed) => {
    copyFileSync(driver, join(installed.folder, basename(driver)));
    const sdk = run('node', [basename(driver)], { cwd: installed.folder })
      .trim()
      .split('\n');
    return { sdk, command: findUses(installed) };
  }) as [Features, Features];
  const lost = [...missingIn(current.sdk, old.sdk), ...missingIn(current.command, old.command)];
  if (lost.length > 0)
    throw new Error(`this checkout does not have what ${before.name} has: ${lost.join(', ')}`);
  const isNew = [...missingIn(old.sdk, current.sdk), ...missingIn(old.command, current.command)];
  if (isNew.length > 0) console.log(`     ${before.name} does not have: ${isNew.join(', ')}`);
  return old;
}

interface Features {
  sdk: string[];
  command: string[];
}

const missingIn = (some: readonly string[], others: readonly string[]): string[] =>
  others.filter((each) => !some.includes(each));
