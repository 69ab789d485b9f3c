import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, buildCache, Template, templates } from '@skerry/sdk/template';
import type { Stack } from '../../stack/stack.ts';
import {
  type DebianRegistry,
  makeBusyboxFolder,
  startDebianRegistry,
} from '../../templates/debian-registry.ts';
import type { KillOperation } from './kill-operations.ts';
import { settleBuilds } from './settle-builds.ts';

/** Operations on a template, and the registry that their builds pull from. */
export interface BuildOperations extends AsyncDisposable {
  /** The operations of `KillLaneOptions`. */
  operations: Record<string, KillOperation>;
  /** Arguments of a server that may pull from the registry. */
  args: readonly string[];
}

const NAME = 'killed';
const FOLDER = '/srv/app';
const CONTENT = 'copied';

/** Starts the registry, and writes the files that the builds copy. */
export const createBuildOperations = async (): Promise<BuildOperations> => {
  const registry = await startDebianRegistry();
  const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'chown', 'mkdir', 'sleep', 'test', 'true']);
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  const context = mkdtempSync(join(tmpdir(), 'skerry-context-'));
  writeFileSync(join(context, 'file'), CONTENT);
  const dispose = async (): Promise<void> => {
    await registry[Symbol.asyncDispose]();
    for (const folder of [busybox, context]) rmSync(folder, { recursive: true });
  };
  const buildFrom = toBuild(registry, context);

  const remove = async ({ connection }: Stack): Promise<void> => {
    await templates.delete(NAME, connection);
    await buildCache.prune(connection);
  };
  return {
    args: ['--registry', registry.host],
    operations: {
      'build and delete a template': {
        from: 'running',
        act: async (stack) => {
          await buildFrom(stack, { force: true });
          await remove(stack);
        },
        settle: (stack, dataDir) =>
          settleBuilds({
            ...{ stack, dataDir, template: NAME },
            // The next build uses what the cache has of the one that was killed.
            buildNext: () => buildFrom(stack, { force: false }),
            expected: { [`${FOLDER}/made`]: 'made\n', [`${FOLDER}/after`]: `${CONTENT}\n` },
            remove: () => remove(stack),
          }),
      },
    },
    [Symbol.asyncDispose]: dispose,
  };
};

/** All that a build has: a pull, a stage, commands, an upload, results of steps, an image and a checkpoint. */
const toBuild = (registry: DebianRegistry, context: string) => {
  const image = `${registry.host}/test/busybox`;
  const template = Template.fromDockerfile(`FROM ${image} AS stage
RUN echo made > /made
FROM ${image}
WORKDIR ${FOLDER}
COPY --from=stage /made ./
COPY file ./
RUN cat file > after; echo >> after
HEALTHCHECK CMD true
CMD exec sleep 1000
`);
  return async ({ connection, pid }: Stack, { force }: { force: boolean }): Promise<void> => {
    using server = watchProcess(pid);
    const options = { ...connection, context, force, cpuCount: 1, memoryMb: 256, signal: server.ended };
    await build(template, NAME, options).result();
  };
};

/** A build that is followed asks for ten seconds whether its server comes back; the next one has another port. */
const watchProcess = (pid: number): { ended: AbortSignal } & Disposable => {
  const ended = new AbortController();
  const look = (): void => {
    if (!existsSync(`/proc/${pid}`)) ended.abort(new Error('the server was killed'));
  };
  const timer = setInterval(look, 10);
  return { ended: ended.signal, [Symbol.dispose]: () => clearInterval(timer) };
};
