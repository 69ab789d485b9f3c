import { mkdirSync, stat } from 'node:fs';
import { join } from 'node:path';
import { agentPort } from '@skerry/contract/directory';
import { createControlServer } from './host/control.ts';
import { createHostSockets } from './host/host-sockets.ts';
import { createHostUsage } from './host/host-usage.ts';
import { createSandboxLog } from './host/sandbox-log.ts';
import { listen } from './http/listen.ts';
import { createPublicServer } from './http/public-server.ts';
import { createRequestListener } from './http/server.ts';
import { createLog } from './log.ts';
import { createSettingsStore } from './settings.ts';
import { createUsers } from './system/users.ts';

const MAX_LOG_BYTES = 1024 * 1024;
const PRELOAD_MS = 250;
const REHEARSE_MS = 1_000;
/**
 * After the calls are loaded: by then the first command has answered, or nobody is in a hurry. Nor is anybody who was made in the
 * same burst of creates, which needs the processor that this takes.
 */
const TRIM_MS = 4_000;

/**
 * ENVD_SOCKET_DIR: the folder of `http.sock`, `control.sock` and `envd.log`.
 * ENVD_PORT: the TCP port beside them; 49983 unless given, `0` for any free one, `off` for none.
 */
const socketDir = process.env.ENVD_SOCKET_DIR ?? '/run/envd';
const port = process.env.ENVD_PORT ?? String(agentPort);

// Meant for this program alone: what it starts finds the libraries of its own file system, and has memory of its own kind.
delete process.env.LD_LIBRARY_PATH;
delete process.env.MALLOC_ARENA_MAX;
// Reading inotify waits in the thread pool for good and must not take a thread from the files.
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
// Whatever a sandbox provokes, the agent stays: without it the sandbox could not be used or ended cleanly.
process.on('uncaughtException', (error) => logDefect('uncaught exception', error));
process.on('unhandledRejection', (error) => logDefect('unhandled rejection', error));

const settings = createSettingsStore();
const users = createUsers();
const usage = createHostUsage();

/** Loads on the first call. A failure, say for want of file descriptors, is not kept: the next call tries again. */
const once = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
};
const trim = (): void => {
  import('./system/trim-heap.ts').then(
    ({ trimHeap }) => trimHeap(),
    (error: unknown) => log('cannot trim the heap', { error }),
  );
};
const loadRpc = once(async () => {
  const startedSeconds = process.uptime();
  const listener = (await import('./rpc/rpc.ts')).createRpcListener({ settings, users, log, sandboxLog });
  log('calls loaded', { tookMs: Math.round((process.uptime() - startedSeconds) * 1000) });
  setTimeout(trim, TRIM_MS);
  return listener;
});
const loadFiles = once(async () =>
  (await import('./http/files/files.ts')).createFileHandlers({ settings, users }),
);

const listener = createRequestListener({ settings, users, usage, log, sandboxLog, loadRpc, loadFiles });

/**
 * Loading blocks for a while, so it waits until the host has initialised the sandbox and is busy answering its own caller.
 * A sandbox that is kept in store for later gets everything loaded too.
 */
const preload = (): void => {
  clearTimeout(preloading);
  loadRpc().catch((error: unknown) => log('cannot load the calls', { error }));
};
const preloading = setTimeout(preload, PRELOAD_MS);
/** Only what nobody asks for by then is in store; on a busy host a sandbox that is waited for may take long, too. */
const rehearseInStore = async (): Promise<void> => {
  try {
    const [{ createRpcListener }, { rehearse }] = await Promise.all([
      import('./rpc/rpc.ts'),
      import('./host/rehearse.ts'),
    ]);
    // With a log and a table of processes of its own: the owner to come sees nothing of it.
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
// In the bundle of the calls: a chunk of its own would take what both share out of that one, and make the first call wait for it.
const runSelfTest = async (): Promise<void> => (await import('./rpc/rpc.ts')).runSelfTest();
const control = createControlServer({ settings, usage, log, sandboxLog, onInitialized, runSelfTest });

const hostSockets = createHostSockets([
  { server: createPublicServer(listener), path: join(socketDir, 'http.sock') },
  { server: control, path: join(socketDir, 'control.sock') },
]);
// From the host, before everything inside is written down; then it is stopped, and continued wherever it goes on.
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
      // The sockets still serve everything; only neighbours inside the sandbox miss the port.
      log('cannot listen on TCP', { port, error });
    }
  }
  // Its appearance tells the host that everything is ready: nothing from here on may wait.
  await hostSockets.open();
  // Makes the threads of the pool, before anybody has started anything here: libuv ends the program when a sandbox has no room left
  // for them at their first use.
  stat('/', () => undefined);
  log('ready', { upMs: Math.round(process.uptime() * 1000) });
};

start().catch((error: unknown) => {
  log('cannot start', { error });
  process.exit(1);
});
