import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext } from '../harness/benchmark.ts';
import { type BenchSandbox, type Endpoint, writeFile } from './agent.ts';

const cache = join(import.meta.dirname, '../../../.skerry/nginx');
const START_MS = 5_000;

/** Files of the sandbox below `/`; PUT through the WebDAV module, with the temporary file on the same file system. */
const config = `daemon off;
user root;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  client_max_body_size 0;
  client_body_buffer_size 1m;
  client_body_temp_path /home/user/.nginx;
  server {
    listen unix:/run/envd/nginx.sock;
    root /;
    location / { dav_methods PUT; }
  }
}
`;

/**
 * Starts nginx inside a sandbox, so that it has the disk, limits and files of the agent, on a socket beside the
 * agent's. It ends with the sandbox.
 */
export async function startNginx(
  sandbox: BenchSandbox,
  { stack }: Pick<BenchmarkContext, 'stack'>,
): Promise<Endpoint> {
  await writeFile(sandbox, { path: '/tmp/nginx', file: findNginx() });
  await writeFile(sandbox, { path: '/tmp/nginx.conf', content: config });
  await sandbox.run('mkdir -p /var/log/nginx /var/lib/nginx && chmod +x /tmp/nginx');
  const running = sandbox.run('exec /tmp/nginx -c /tmp/nginx.conf');
  const failed = running.then(() => Promise.reject(new Error('nginx ended')));
  failed.catch(() => undefined);
  const socketPath = stack.guestPath(sandbox.sandboxId, 'nginx.sock');
  const deadline = performance.now() + START_MS;
  while (!existsSync(socketPath)) {
    if (performance.now() > deadline) throw new Error('nginx does not listen');
    await Promise.race([delay(20), failed]);
  }
  return { socketPath, headers: {} };
}

/** The host's own, else that of Debian's package, unpacked and not installed: no service starts by itself. */
function findNginx(): string {
  if (existsSync('/usr/sbin/nginx')) return '/usr/sbin/nginx';
  const program = join(cache, 'usr/sbin/nginx');
  if (existsSync(program)) return program;
  console.error('downloading nginx from Debian');
  mkdirSync(join(cache, '..'), { recursive: true });
  const folder = mkdtempSync(`${cache}-`);
  try {
    execFileSync('apt-get', ['download', '-o', 'APT::Sandbox::User=root', 'nginx'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get download nginx brought no package');
    execFileSync('dpkg-deb', ['-x', archive, '.'], { cwd: folder });
    rmSync(cache, { recursive: true, force: true });
    renameSync(folder, cache);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return program;
}
