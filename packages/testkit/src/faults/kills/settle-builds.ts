import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, SandboxError } from '@skerry/sdk';
import type { Stack } from '../../stack/stack.ts';
import { retry } from './retry.ts';

export interface SettledBuilds {
  stack: Stack;
  dataDir: string;
  /** The name of the template. */
  template: string;
  /** Builds it once more. */
  buildNext: () => Promise<void>;
  /** The content of files that it then has. */
  expected: Record<string, string>;
  /** Deletes the template, and all that the cache has. */
  remove: () => Promise<void>;
}

/** A build ends within this time after a kill, on a busy machine too. */
const END_MS = 60_000;

/**
 * Waits until no build runs, and then builds once more and removes everything. Resolves with what is not as it should be: a build
 * that hangs or has no reason, one that fails now, other files than expected, and what is left on the disk.
 */
export const settleBuilds = async (options: SettledBuilds): Promise<string[]> => {
  const { stack, dataDir, template, buildNext, expected, remove } = options;
  const wrong: string[] = [];
  const list = (folder: string): string[] => readdirSync(join(dataDir, folder));

  const waitFor = async (what: string, find: () => Promise<string[]> | string[]): Promise<void> => {
    for (const deadline = performance.now() + END_MS; ; await delay(20)) {
      const found = await find();
      if (found.length === 0) return;
      if (performance.now() < deadline) continue;
      wrong.push(`${what}: ${found.join(', ')}`);
      return;
    }
  };

  const readBuilds = async (): Promise<{ id: string; status: string; reason: string | undefined }[]> => {
    const { api } = stack;
    const { data } = await api.GET('/templates/{templateID}', { params: { path: { templateID: template } } });
    const found = (data?.builds ?? []).map(async ({ buildID: id, status }) => {
      const path = { templateID: data?.templateID ?? '', buildID: id };
      const info = await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: { path } });
      return { id, status, reason: info.data?.reason?.message };
    });
    return Promise.all(found);
  };
  await waitFor('builds that hang', async () =>
    (await readBuilds()).filter(({ status }) => status === 'building').map(({ id }) => id),
  );
  for (const { id, status, reason } of await readBuilds())
    if (status === 'error' && !reason) wrong.push(`build ${id} failed without a reason`);
  // A finished archive stays for the next build that needs it.
  for (const folder of ['templates', 'contexts'])
    await waitFor(`half made in ${folder}`, () => list(folder).filter((name) => name.startsWith('.')));

  try {
    await buildNext();
    const sandbox = await Sandbox.create({ ...stack.connection, template });
    for (const [path, content] of Object.entries(expected)) {
      const found = await sandbox.files.read(path);
      if (found !== content) wrong.push(`${path} of the next build has ${JSON.stringify(found)}`);
    }
    await sandbox.kill();
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    wrong.push(`the next build: ${error.code} ${error.message}`);
  }
  await retry(remove);
  await waitFor('left in templates', () => list('templates'));
  return wrong;
};
