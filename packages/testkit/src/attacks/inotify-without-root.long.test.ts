import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { joinStack } from '../stack/shared-stack.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { testAttack } from './attack.ts';
import { attackers, runPython } from './run-python.ts';
import { takeWatches } from './take-watches.ts';

const becomeUser = fileURLToPath(new URL('../rootless/main.ts', import.meta.url));

let dir: string;
let stack: Stack;
beforeAll(async () => {
  // The image that is shown to the user is root's, which a server of root makes where there is none.
  await (await joinStack()).leave();
  dir = mkdtempSync(join(tmpdir(), 'skerry-watches-'));
  const asUser = [process.execPath, becomeUser, dir, imagesDir];
  stack = await startStack({
    dataDir: join(dir, 'home/data'),
    through: ['unshare', '--mount', '--propagation', 'private', ...asUser],
  });
});
afterAll(async () => {
  await stack?.down();
  rmSync(dir, { recursive: true, force: true });
});

const open = async (): Promise<Sandbox> =>
  Sandbox.connect((await stack.createSandbox()).sandboxId, stack.connection);

// Without root there is no level but `container`.
testAttack(
  {
    attack: 'taking all inotify instances of the user who runs skerry without root',
    place: 'container',
    stoppedBy: "a limit of each sandbox, an eighth of the user's",
  },
  async () => {
    const ofUser = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));
    const share = Math.max(16, Math.floor(ofUser / 8));
    const other = await open();
    const sandbox = await open();
    // Root inside and its users count as one: what one of them holds, the others do not get.
    const taken: number[] = [];
    for (const user of attackers) taken.push(Number(await runPython(sandbox, user, takeWatches)));
    // All but what the agent has.
    expect(taken[0]).toBeGreaterThan(share / 2);
    expect(taken.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(share);
    const watch = await other.files.watchDir('/tmp', { onEvent: () => {} });
    watch.stop();
    expect(Number(await runPython(other, 'user', takeWatches))).toBeGreaterThan(share / 2);
  },
);
