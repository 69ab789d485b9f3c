// Started with `fork`. Does the work of the agent with the same libraries and no safeguards: the reference of
// most rows. It runs in a separate process, as the agent does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { Filesystem, FileType } from '@skerry/envd-client/filesystem';
import { Process } from '@skerry/envd-client/process';

/**
 * Messages of the parent: a socket to listen on, or a program to start and wait for. The reply reports the end of the
 * work.
 */
export type ReferenceOrder = { listen: string } | { spawn: string };
export type ReferenceAnswer = { elapsedMs: number };

/** The agent's value: a turn of the other side may last longer than Node's keep-alive of a few seconds. */
const KEEP_ALIVE_MS = 600_000;

const handle = connectNodeAdapter({
  routes: (router) => {
    router.service(Process, {
      list: () => ({ processes: [] }),
      async *start({ process: config }) {
        const child = spawn(config?.cmd ?? '', config?.args ?? [], { stdio: ['ignore', 'pipe', 'inherit'] });
        yield { event: { event: { case: 'start', value: { pid: child.pid ?? 0 } } } };
        const closed = once(child, 'close');
        for await (const value of child.stdout as AsyncIterable<Uint8Array>)
          yield { event: { event: { case: 'data', value: { output: { case: 'stdout', value } } } } };
        await closed;
        yield { event: { event: { case: 'end', value: { exited: true, status: 'exit status 0' } } } };
      },
    });
    router.service(Filesystem, {
      async listDir({ path }) {
        const names = await readdir(path);
        const entries = await Promise.all(
          names.map(async (name) => {
            const { size, mode, mtimeMs } = await lstat(join(path, name));
            const modifiedTime = { seconds: BigInt(Math.floor(mtimeMs / 1000)), nanos: 0 };
            const type = FileType.FILE;
            return {
              name,
              type,
              path: join(path, name),
              size: BigInt(size),
              mode: mode & 0o777,
              modifiedTime,
            };
          }),
        );
        return { entries };
      },
    });
  },
  fallback(request, response) {
    const path = new URL(request.url ?? '', 'http://reference').searchParams.get('path') ?? '';
    pipeline(request, createWriteStream(path)).then(
      () => void response.end('[]'),
      (error: unknown) => response.destroy(error as Error),
    );
  },
});

// The parent has ended.
process.on('disconnect', () => process.exit());
process.on('message', (order: ReferenceOrder) => {
  const startedMs = performance.now();
  void obey(order).then(() => {
    const answer: ReferenceAnswer = { elapsedMs: performance.now() - startedMs };
    process.send?.(answer);
  });
});

async function obey(order: ReferenceOrder): Promise<void> {
  if ('listen' in order) {
    await once(createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handle).listen(order.listen), 'listening');
    return;
  }
  const child = spawn(order.spawn, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, 'close');
}
