import { once } from 'node:events';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import type { ConnectRouter } from '@connectrpc/connect';
import { serveRequests } from '../blob-copies/serve-requests.ts';
import { toSnapshotSocket } from '../blob-copies/snapshot-socket.ts';
import { openDriver, parseDriver } from '../drivers/index.ts';
import { toRuntimeError } from '../error.ts';
import { withFolderLock } from '../kernel/file-lock.ts';
import { removeHelperRecord, writeHelperRecord } from './helper-record.ts';
import { serveHost } from './host-service.ts';
import { normalizeProcess } from './normalize-process.ts';
import { formatReadiness } from './readiness.ts';
import { serveRuntime } from './server.ts';

/**
 * Runs the helper: it holds the driver, and is the only process of skerry that forks. The server calls it over a unix
 * socket, to which `addServices` may add services. Its first line on stdout reports that it is ready, or why the driver
 * cannot be opened. Resolves with the exit status when stdin ends, so the helper never outlives the server. Sandboxes
 * outlive both.
 */
export async function runHelper(options: {
  /** The arguments that `startHelper` passes. */
  argv: readonly string[];
  addServices?: (router: ConnectRouter) => void;
  /** The program of the gateway for rules by name. Default: no sandbox can have any. */
  gatewayProgram?: string | undefined;
}): Promise<number> {
  normalizeProcess();

  const { values } = parseArgs({
    args: [...options.argv],
    options: {
      data: { type: 'string' },
      socket: { type: 'string' },
      agent: { type: 'string' },
      state: { type: 'string' },
      driver: { type: 'string' },
      'starts-none': { type: 'boolean' },
      rootless: { type: 'boolean' },
      closed: { type: 'string', multiple: true },
      cgroup: { type: 'string' },
    },
  });
  const { data: dataDir, socket: socketPath, agent: agentDir, state: stateDir, driver: driverJson } = values;
  if (
    dataDir === undefined ||
    socketPath === undefined ||
    agentDir === undefined ||
    driverJson === undefined
  ) {
    console.error(
      'usage: main --data DIR --socket PATH --agent DIR --driver JSON [--state DIR] [--starts-none] [--rootless [--closed IP]... [--cgroup DIR]]',
    );
    return 2;
  }
  const rootless = values.rootless
    ? { hostAddresses: values.closed ?? [], cgroupFolder: values.cgroup }
    : undefined;

  const ending = new AbortController();
  const { signal } = ending;
  const ended = Promise.race([once(process.stdin, 'close'), once(process, 'SIGTERM')]);
  void ended.then(() => ending.abort());
  process.stdin.resume();
  // An earlier helper whose server was killed may still be undoing its work; it releases the lock at its end.
  return withFolderLock(dirname(socketPath), async () => {
    writeHelperRecord(dataDir);
    const startsNone = values['starts-none'] ?? false;
    const { gatewayProgram } = options;
    const environment = { dataDir, agentDir, stateDir, rootless, startsNone, signal, gatewayProgram };
    const driver = await openDriver(parseDriver(driverJson), environment).catch((error: unknown) => {
      // A start that was stopped is no fault of the driver.
      if (!signal.aborted) console.error(error);
      process.stdout.write(formatReadiness(toRuntimeError(error, 'opening the driver')));
    });
    if (driver === undefined) {
      // The server ends this process after it has read the line.
      await ended;
      return 1;
    }
    const server = await serveRuntime(driver.runtime, {
      socketPath,
      onError: (error) => console.error(error),
      addServices: (router) => {
        serveHost(router, () => driver.measure());
        options.addServices?.(router);
      },
    });
    const requests = await serveRequests(driver.snapshotCopies, {
      socketPath: toSnapshotSocket(dataDir),
      onError: (error) => console.error(error),
    });
    process.stdout.write(formatReadiness());
    await ended;
    // Unfinished work is undone before the exit. When the server kills this process instead, the next helper undoes it.
    await Promise.all([requests.close(), server.close()]);
    await driver.close();
    removeHelperRecord(dataDir);
    return 0;
  });
}
