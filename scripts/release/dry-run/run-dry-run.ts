import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Outcome } from '../../testing/test-outcome.ts';
import { runFirstDay } from '../first-day/run-first-day.ts';
import { installNode, readLowestNode } from '../lowest-node.ts';
import { run } from '../run.ts';
import { runSteps, type Step } from '../run-steps.ts';
import { ownImages, startService } from '../start-service.ts';
import { consumers } from './consumers.ts';
import { type Registry, startRegistry } from './registry.ts';

const root = join(import.meta.dirname, '../../..');
const expected = 'from a sandbox\n';

/**
 * Publishes everything to a registry that lives as long as this run, and uses it from there as users do: installs the command
 * globally, starts a server with it, and runs programs in each kind of project. Prints a line for each step. Needs the built
 * packages, which it does not change, and root, as `skerry up` does.
 */
export async function runDryRun(): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-release-'));
  const registry = await startRegistry(join(folder, 'registry'));
  try {
    return await runSteps('dry run', (step) => usePublished(step, { folder, registry }));
  } finally {
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function usePublished(
  step: Step,
  { folder, registry }: { folder: string; registry: Registry },
): Promise<void> {
  const { catalog } = parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) as {
    catalog: Record<string, string>;
  };
  await step('publish', () =>
    run('pnpm', ['-r', 'publish', '--no-git-checks', '--access', 'public'], {
      cwd: root,
      env: registry.env,
    }),
  );
  await runFirstDay(step, { folder: join(folder, 'first-day'), npm: registry.env });
  const prefix = join(folder, 'global');
  const flags = ['--global', '--prefix', prefix, '--no-audit', '--no-fund', '--silent'];
  await step('install the command globally', () =>
    run('npm', ['install', ...flags, 'skerry'], { cwd: folder, env: registry.env }),
  );
  const skerry = join(prefix, 'bin/skerry');
  const lowest = readLowestNode('cli');
  const bin = await step(`install Node ${lowest}, the lowest that engines of skerry allow`, () =>
    process.arch === 'x64'
      ? installNode(join(folder, 'node'), lowest)
      : { skipped: 'this processor is no x64' },
  );
  const env = typeof bin === 'string' ? { PATH: [bin, process.env.PATH].join(':') } : {};
  const service = await step('skerry up, on that Node', () =>
    startService({ skerry, data: join(folder, 'data'), images: ownImages, env }),
  );
  if (service === undefined) return;
  try {
    const projects = join(folder, 'projects');
    mkdirSync(projects);
    const given = {
      folder: projects,
      registry: registry.env,
      service: service.env,
      versions: {
        typescript: String(catalog.typescript),
        typesNode: String(catalog['@types/node']),
        esbuild: String(catalog.esbuild),
      },
    };
    await step('skerry sandbox run, on that Node', () => {
      const argv = ['sandbox', 'run', '--', 'echo', 'from a sandbox'];
      const said = run(skerry, argv, { cwd: folder, env: { ...service.env, ...env } });
      if (said !== expected) throw new Error(`it printed ${said}`);
    });
    for (const [title, use] of Object.entries(consumers)) {
      await step(title, async () => {
        const result = await use(given);
        if (typeof result === 'string' && result !== expected) throw new Error(`it printed ${result}`);
        return result;
      });
    }
    await step('skerry down, on that Node', () => service.down());
  } finally {
    service.kill();
  }
}
