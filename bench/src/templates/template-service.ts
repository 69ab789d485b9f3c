import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Sandbox } from '@skerry/sdk';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '@skerry/testkit';
import { type BenchStack, startBenchStack } from '../harness/stack.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';

const POLL_MS = 20;

/** A service beside a registry on loopback, from which it builds templates. */
export interface TemplateService {
  readonly stack: BenchStack;
  readonly registry: DebianRegistry;
  /** A folder for files of the benchmark. */
  readonly folder: string;
  /** Builds a template from a request of the API, and resolves with the time of all calls. Rejects when the build fails. */
  build(name: string, body: object): Promise<number>;
  create(template: string): Promise<Sandbox>;
}

/** All of it is removed with the resources. */
export async function startTemplateService(resources: AsyncDisposableStack): Promise<TemplateService> {
  const folder = temporaryFolder(resources);
  const registry = resources.use(await startDebianRegistry());
  const stack = await startBenchStack({ resources, args: ['--registry', registry.host] });
  const { api, connection } = stack;
  return {
    stack,
    registry,
    folder,
    build: async (name, body) => {
      const started = performance.now();
      const { data: registered, error } = await api.POST('/v3/templates', { body: { name } });
      if (registered === undefined) throw new Error(JSON.stringify(error));
      const path = { templateID: registered.templateID, buildID: registered.buildID };
      const start = await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
        params: { path },
        body: body as never,
      });
      if (start.error) throw new Error(start.error.message);
      for (;;) {
        const { data } = await api.GET('/templates/{templateID}/builds/{buildID}/status', {
          params: { path },
        });
        if (data?.status === 'error') throw new Error(`${name}: ${data.reason?.message}`);
        if (data?.status === 'ready') return performance.now() - started;
        await delay(POLL_MS);
      }
    },
    create: (template) => Sandbox.create({ ...connection, template, timeoutMs: 600_000 }),
  };
}

/** Writes a layer with those programs of a static busybox; resolves with its path. Needs Debian's `busybox-static`. */
export async function packBusybox(folder: string, applets: readonly string[]): Promise<string> {
  const content = makeBusyboxFolder(applets);
  const path = join(folder, 'busybox.layer');
  try {
    await promisify(execFile)('tar', [
      '-C',
      content,
      '--numeric-owner',
      '--owner=0',
      '--group=0',
      '-cf',
      path,
      '.',
    ]);
  } finally {
    rmSync(content, { recursive: true });
  }
  return path;
}
