// Set-up of the project of tests that drive the service: servers that they may share, one of each level, each started
// when one of them asks.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import type { TestProject } from 'vitest/node';
import { imagesDir } from './images-dir.ts';
import { type Stack, startStack } from './stack.ts';
import type { StackAddress } from './stack-client.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /**
     * Folder of sockets, one for each level by its name: it sends each client a `SharedStackState` as JSON, and nothing when
     * the server could not start.
     */
    sharedStackDir: string;
  }
}

export interface SharedStackState {
  readonly address: StackAddress;
  readonly dataDir: string;
  readonly log: string;
}

const workspace = join(import.meta.dirname, '../../../..');

/** The tests run what is published, which must not be older than its sources. `SKERRY_BUILT` says that it has just been built. */
const buildProgram = (): void => {
  if (process.env.SKERRY_BUILT !== undefined) return;
  const turbo = join(workspace, 'node_modules/.bin/turbo');
  const args = ['run', 'build', '--filter=skerry', '--output-logs=errors-only'];
  execFileSync(turbo, args, { cwd: workspace, stdio: ['ignore', 'ignore', 'inherit'] });
};

const isMinimal = (name: string): boolean =>
  /^base-.*\.json$/.test(name) && readFileSync(join(imagesDir, name), 'utf8').includes('"base-minimal"');

/** Many servers start at once, and would all wait for the first of them to make the images. */
const makeImages = async (): Promise<void> => {
  const isMade = existsSync(imagesDir) && readdirSync(imagesDir).some(isMinimal);
  if (!isMade) await (await startStack()).down();
};

/** Called by vitest before the tests of the project; what it resolves with is called after them. */
export default async function prepareSharedStack(project: TestProject): Promise<() => Promise<void>> {
  buildProgram();
  await makeImages();
  const dir = await mkdtemp(join(tmpdir(), 'shared-stack-'));
  const leaving = await Promise.all(isolationLevels.map((level) => shareStack(level, join(dir, level))));
  project.provide('sharedStackDir', dir);
  return async () => {
    await Promise.all(leaving.map((leave) => leave()));
    await rm(dir, { recursive: true });
  };
}

/** Resolves with what ends the server of that level, and the socket at `path`. */
async function shareStack(level: IsolationLevel, path: string): Promise<() => Promise<void>> {
  let starting: Promise<Stack> | undefined;
  const answer = async (socket: Socket): Promise<void> => {
    try {
      starting ??= startStack({ args: ['--isolation', level] });
      const { address, dataDir, log } = await starting;
      const state: SharedStackState = { address, dataDir, log: log() };
      socket.end(JSON.stringify(state));
    } catch (error) {
      console.error(error);
      socket.destroy();
    }
  };
  const server = createServer((socket) => void answer(socket));
  server.listen(path);
  await once(server, 'listening');
  return async () => {
    server.close();
    const stack = await starting?.catch(() => undefined);
    await stack?.down();
  };
}
