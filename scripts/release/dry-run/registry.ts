import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { run } from '../run.ts';

export interface Registry {
  url: string;
  /** Variables with which npm and pnpm use it. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** Installed by the run itself: as a dependency of the workspace it would be a third of every set-up. */
const verdaccio = '6.10.4';
const startMs = 60_000;

/** Starts a registry that keeps the packages of this workspace in a folder, and passes on what is asked of others. */
export async function startRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true });
  const upstream = run('npm', ['config', 'get', 'registry'], { cwd: folder }).trim();
  // verdaccio asks for a tag of node-fetch that not every registry keeps.
  const manifest = {
    private: true,
    dependencies: { verdaccio },
    overrides: { 'node-fetch': '2.7.0' },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--silent'], {
    cwd: folder,
  });
  const own = { access: '$all', publish: '$anonymous', unpublish: '$anonymous' };
  writeFileSync(
    join(folder, 'config.yaml'),
    stringify({
      storage: './storage',
      uplinks: { upstream: { url: upstream, timeout: '60s', max_fails: 20 } },
      packages: { '@skerry/*': own, skerry: own, '**': { access: '$all', proxy: 'upstream' } },
      publish: { allow_offline: true },
      max_body_size: '100mb',
      log: { type: 'stdout', format: 'json', level: 'warn' },
    }),
  );
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const program = join(folder, 'node_modules/verdaccio/bin/verdaccio');
  const server = spawn(
    process.execPath,
    [program, '--config', 'config.yaml', '--listen', `127.0.0.1:${port}`],
    {
      cwd: folder,
      stdio: 'ignore',
    },
  );
  const settings = join(folder, 'npmrc');
  writeFileSync(settings, `registry=${url}/\n//127.0.0.1:${port}/:_authToken=throw-away\nprovenance=false\n`);
  const close = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill();
    await once(server, 'exit');
  };
  for (const until = Date.now() + startMs; ; await sleep(200)) {
    const answer = await fetch(`${url}/-/ping`).catch(() => undefined);
    if (answer?.ok) break;
    if (Date.now() < until && server.exitCode === null) continue;
    await close();
    throw new Error('verdaccio does not start');
  }
  return { url, env: { npm_config_userconfig: settings, npm_config_registry: `${url}/` }, close };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
