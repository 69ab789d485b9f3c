import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { type Outcome, toFirstLine } from '../../test-outcome.ts';
import { consumers } from './consumers.ts';
import { startRegistry } from './registry.ts';
import { run } from './run.ts';

const root = join(import.meta.dirname, '../../..');
const expected = 'from a sandbox\n';

/**
 * Publishes everything to a registry that lives as long as this run, and uses it from there as users do: installs the command
 * globally, starts a server with it, and runs programs in each kind of project. Prints a line for each step. Needs root, as
 * `skerry up` does.
 */
export async function runDryRun(): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-release-'));
  const outcome: Outcome = { passed: 0, failures: [], skipped: [] };

  const step = async <T>(title: string, work: () => T | Promise<T>): Promise<T | undefined> => {
    const started = performance.now();
    const say = (word: string, rest = '') =>
      console.log(`${word} ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)${rest}`);
    try {
      const result = await work();
      const skipped = (result as { skipped?: string } | undefined)?.skipped;
      if (skipped === undefined) {
        outcome.passed += 1;
        say('ok  ');
      } else {
        outcome.skipped.push(`dry run > ${title}`);
        say('skip', `: ${skipped}`);
      }
      return result;
    } catch (error) {
      const { message } = error as Error;
      outcome.failures.push(`dry run > ${title}: ${toFirstLine(message)}`);
      say('FAIL', `\n${message}`);
      return undefined;
    }
  };

  const { catalog } = parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) as {
    catalog: Record<string, string>;
  };
  const registry = await startRegistry(join(folder, 'registry'));
  try {
    await step('build', () => run('turbo', ['run', 'build', '--output-logs=errors-only'], { cwd: root }));
    await step('publish', () =>
      run('pnpm', ['-r', 'publish', '--no-git-checks', '--access', 'public'], {
        cwd: root,
        env: registry.env,
      }),
    );
    const prefix = join(folder, 'global');
    await step('install the command globally', () =>
      run(
        'npm',
        ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', '--silent', 'skerry'],
        {
          cwd: folder,
          env: registry.env,
        },
      ),
    );
    const skerry = join(prefix, 'bin/skerry');
    const data = join(folder, 'data');
    const images = process.env.SKERRY_IMAGES_DIR ?? join(root, '.skerry/images');
    const flags = ['up', '--host', '127.0.0.1', '--port', '0', '--data', data, '--images', images, '--json'];
    const server = spawn(skerry, flags, { stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const address = await step('skerry up', async () => {
      const ended = once(server, 'exit').then(() => Promise.reject(new Error(`it ended\n${log}`)));
      ended.catch(() => undefined); // Later it ends because it is told to.
      const [line] = (await Promise.race([once(createInterface(server.stdout), 'line'), ended])) as [string];
      return JSON.parse(line) as Record<'apiUrl' | 'apiKey' | 'domain' | 'sandboxUrl', string>;
    });
    if (address !== undefined) {
      const projects = join(folder, 'projects');
      mkdirSync(projects);
      const given = {
        folder: projects,
        registry: registry.env,
        service: {
          SKERRY_API_URL: address.apiUrl,
          SKERRY_API_KEY: address.apiKey,
          SKERRY_DOMAIN: address.domain,
          SKERRY_SANDBOX_URL: address.sandboxUrl,
        },
        versions: {
          typescript: String(catalog.typescript),
          typesNode: String(catalog['@types/node']),
          esbuild: String(catalog.esbuild),
        },
      };
      for (const [title, use] of Object.entries(consumers)) {
        await step(title, () => {
          const result = use(given);
          if (typeof result === 'string' && result !== expected) throw new Error(`it printed ${result}`);
          return result;
        });
      }
      await step('skerry down', async () => {
        run(skerry, ['down', '--data', data], { cwd: folder });
        if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      });
    }
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGKILL');
  } finally {
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return outcome;
}
