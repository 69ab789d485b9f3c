import { mkdirSync, stat } from 'node:fs';
import { join } from 'node:path';
import { agentPort } from '@skerry/contract/directory';
import { createControlServer } from './host/control.ts';
import { createHostSockets } from './host/host-sockets.ts';
import { createHostUsage } from './host-usage.ts';
import { listen } from './http/listen.ts';
import { createPublicServer } from './http/public-server.ts';
import { createRequestListener } from './http/server.ts';
import { loadOnce } from './load-once.ts';
import { createLog } from './log.ts';
import { createSandboxLog } from './sandbox-log.ts';
import { createSettingsStore } from './settings.ts';
import { createUsers } from './system/users.ts';

const MAX_LOG_BYTES = 1024 * 1024;
const PRELOAD_MS = 250;
const REHEARSE_MS = 1_000;
/**
 * Counted from the load of the calls: by then the first command has been answered, or none is waiting. A burst of creates is over
 * by then too; trimming would take processor time from it.
 */
const TRIM_MS = 4_000;

/**
 * ENVD_SOCKET_DIR: the folder of `http.sock`, `control.sock` and `envd.log`.
 * ENVD_PORT: the TCP port beside them; 49983 unless given, `0` for any free one, `off` for none.
 */
const socketDir = process.env.ENVD_SOCKET_DIR ?? '/run/envd';
const port = process.env.ENVD_PORT ?? String(agentPort);

// These are for this program only: its children use the libraries and the allocator of their own file system.
delete process.env.LD_LIBRARY_PATH;
delete process.env.MALLOC_ARENA_MAX;
// Reading inotify occupies a thread of the pool permanently: keep enough for files.
process.env.UV_THREADPOOL_SIZE = '6';
process.umask(0o022);
process.chdir('/');

mkdirSync(socketDir, { recursive: true, mode: 0o700 });
const log = createLog({ path: join(socketDir, 'envd.log'), maxBytes: MAX_LOG_BYTES });
const sandboxLog = createSandboxLog();
const logDefect = (message: string, error: unknown): void => {
  log(message, { error });
  sandboxLog.write({
    level: 'error',
    logger: 'agent',
    message,
    fields: { error: String(error).slice(0, 500) },
  });
};
// The agent survives every error that a sandbox provokes: without it the sandbox could not be used or ended cleanly.
process.on('uncaughtException', (error) => logDefect('uncaught exception', error));
process.on('unhandledRejection', (error) => logDefect('unhandled rejection', error));

const settings = createSettingsStore();
const users = createUsers();
const usage = createHostUsage();

const trim = (): void => {
  import('./system/trim-heap.ts').then(
    ({ trimHeap }) => trimHeap(),
    (error: unknown) => log('cannot trim the heap', { error }),
  );
};
const loadRpc = loadOnce(async () => {
  const startedSeconds = process.uptime();
  const listener = (await import('./rpc-listener.ts')).createRpcListener({
    settings,
    users,
    log,
    sandboxLog,
  });
  log('calls loaded', { tookMs: Math.round((process.uptime() - startedSeconds) * 1000) });
  setTimeout(trim, TRIM_MS);
  return listener;
});
const loadFiles = loadOnce(async () =>
  (await import('./http/files/files.ts')).createFileHandlers({ settings, users }),
);

const listener = createRequestListener({ settings, users, usage, log, sandboxLog, loadRpc, loadFiles });

/**
 * Loading blocks for a while, so it waits until the host has initialised the sandbox and is busy answering its own caller.
 * In a sandbox of the warm pool everything is loaded as well.
 */
const preload = (): void => {
  clearTimeout(preloading);
  loadRpc().catch((error: unknown) => log('cannot load the calls', { error }));
};
const preloading = setTimeout(preload, PRELOAD_MS);
/** A sandbox that was not initialized by then is in the warm pool, or its host is busy. */
const rehearseInStore = async (): Promise<void> => {
  try {
    const [{ createRpcListener }, { rehearse }] = await Promise.all([
      import('./rpc-listener.ts'),
      import('./host/rehearse.ts'),
    ]);
    // The rehearsal has its own log and process table, so that the later owner sees nothing of it.
    const rpc = createRpcListener({
      settings: createSettingsStore(),
      users,
      log,
      sandboxLog: createSandboxLog(),
    });
    await rehearse(rpc, join(socketDir, 'rehearsal.sock'));
  } catch (error) {
    log('cannot rehearse', { error });
  }
};
const rehearsing = setTimeout(() => void rehearseInStore(), REHEARSE_MS);
const onInitialized = (): void => {
  clearTimeout(rehearsing);
  preload();
};
// The self-test is in the bundle of the calls: a separate chunk would move shared code out of it and delay
// the first call.
const runSelfTest = async (): Promise<void> => (await import('./rpc-listener.ts')).runSelfTest();
const endAllWith = async (pid: number): Promise<void> => (await import('./rpc-listener.ts')).endAllWith(pid);
const control = createControlServer({
  ...{ settings, users, usage, log, sandboxLog, onInitialized },
  ...{ runSelfTest, endAllWith },
});

const hostSockets = createHostSockets([
  { server: createPublicServer(listener), path: join(socketDir, 'http.sock') },
  { server: control, path: join(socketDir, 'control.sock') },
]);
// Sent by the host before a checkpoint. SIGCONT follows after the checkpoint and after each restore.
process.on('SIGUSR2', () => {
  hostSockets.close().catch((error: unknown) => log('cannot close the sockets', { error }));
});
process.on('SIGCONT', () => {
  hostSockets.open().catch((error: unknown) => log('cannot open the sockets again', { error }));
});

const start = async (): Promise<void> => {
  if (port !== 'off') {
    const tcp = createPublicServer(listener);
    try {
      // Without a host Node takes all addresses of both families, or of IPv4 where IPv6 is off.
      await listen(tcp, { port: Number(port) });
      const address = tcp.address();
      log('listening', { port: typeof address === 'object' ? address?.port : address });
    } catch (error) {
      // The unix sockets still serve everything; only programs inside the sandbox lack the port.
      log('cannot listen on TCP', { port, error });
    }
  }
  // The host takes the appearance of the sockets as readiness: nothing after this may wait.
  await hostSockets.open();
  // Starts the threads of the pool before any command runs: libuv aborts when a sandbox has no room for them at their first
  // use.
  stat('/', () => undefined);
  log('ready', { upMs: Math.round(process.uptime() * 1000) });
};

start().catch((error: unknown) => {
  log('cannot start', { error });
  process.exit(1);
});
