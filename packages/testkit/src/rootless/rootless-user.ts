import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { imagesDir } from '../stack/images-dir.ts';
import { joinStack } from '../stack/shared-stack.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));

/** An ordinary user with a home of its own, who starts servers. */
export interface RootlessUser {
  /** The folder whose `home` is that of the user. */
  dir: string;
  /** The words before a command that the user runs. */
  through: readonly string[];
  /** Starts a server on the data folder `home/data`. */
  start(args?: readonly string[]): Promise<Stack>;
  /** What is in a folder of the data folder; nothing when it is missing. */
  list(name: string): string[];
  /** No server may run. */
  remove(): void;
}

/** Makes the user, whose ids are the same in each test: one at a time. The image that is shown to it is root's, which a server of root makes where there is none. */
export async function createRootlessUser(): Promise<RootlessUser> {
  await joinStack();
  const dir = mkdtempSync(join(tmpdir(), 'skerry-rootless-'));
  const asUser = [process.execPath, program, dir, imagesDir];
  const through = ['unshare', '--mount', '--propagation', 'private', ...asUser];
  const dataDir = join(dir, 'home/data');
  return {
    dir,
    through,
    start: (args = []) => startStack({ dataDir, through, args: [...args] }),
    list: (name) => {
      const folder = join(dataDir, name);
      return existsSync(folder) ? readdirSync(folder) : [];
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
