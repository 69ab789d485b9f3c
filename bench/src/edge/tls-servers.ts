import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findServerProgram } from '@skerry/platform/server-program';
import { findFreePort, makeSelfSigned, untilServed } from '@skerry/testkit';

/** A proxy with TLS. */
export interface TlsProxy {
  port: number;
  pid: number;
}

/** Two proxies with the same certificate before one server. */
export interface TlsServers {
  edge: TlsProxy;
  nginx: TlsProxy;
}

export const LARGE_BYTES = 2 ** 30;

/**
 * Starts an nginx that answers `/hello` and serves a sparse file `/large`, and in front of it the edge and another nginx, each in one process. They
 * end with the resources.
 */
export async function startTlsServers(resources: AsyncDisposableStack): Promise<TlsServers> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-bench-tls-'));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const certificate = join(folder, 'tls.pem');
  const { key, cert } = makeSelfSigned('example.test');
  writeFileSync(certificate, `${key}${cert}`);
  writeFileSync(join(folder, 'large'), '');
  truncateSync(join(folder, 'large'), LARGE_BYTES);
  const [insidePort, nginxPort] = [await findFreePort(), await findFreePort()];
  const inside = `server {
    listen 127.0.0.1:${insidePort};
    root ${folder};
    location = /hello { return 200 hello; }
  }`;
  await startNginx('inside', { folder, port: insidePort, servers: inside, resources });
  // Settings that docs/e2b-clients.md advises.
  const proxy = `upstream inside { server 127.0.0.1:${insidePort}; keepalive 64; keepalive_requests 10000000; }
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:${nginxPort} ssl http2;
    ssl_certificate ${certificate};
    ssl_certificate_key ${certificate};
    location / {
      proxy_pass http://inside;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_buffering off;
      proxy_request_buffering off;
    }
  }`;
  const nginx = await startNginx('proxy', { folder, port: nginxPort, servers: proxy, resources });
  const program = join(import.meta.dirname, 'edge-process.ts');
  const edge = spawn(process.execPath, [program, String(insidePort), certificate], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  resources.defer(() => end(edge));
  const [line] = await once(createInterface({ input: edge.stdout }), 'line');
  return { edge: { port: Number(line), pid: edge.pid ?? 0 }, nginx };
}

async function startNginx(
  name: string,
  {
    folder,
    port,
    servers,
    resources,
  }: { folder: string; port: number; servers: string; resources: AsyncDisposableStack },
): Promise<TlsProxy> {
  const program = findServerProgram('nginx');
  if (program === undefined) throw new Error('nginx is missing: node scripts/system-packages.ts --more');
  const own = join(folder, name);
  mkdirSync(own);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${own}/${kind};`,
  );
  const config = `daemon off;
master_process off;
pid ${own}/pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 10000000;
  ${temporary.join(' ')}
  ${servers}
}
`;
  writeFileSync(join(own, 'nginx.conf'), config);
  const child = spawn(program.path, ['-e', 'stderr', '-p', own, '-c', join(own, 'nginx.conf')], {
    env: { ...process.env, ...program.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  resources.defer(() => end(child));
  await untilServed(port);
  return { port, pid: child.pid ?? 0 };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** The processor time that a process has used, in microseconds. */
export function readProcessorTime(pid: number): number {
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  // In ticks of 10 ms.
  return (Number(user) + Number(system)) * 10_000;
}
