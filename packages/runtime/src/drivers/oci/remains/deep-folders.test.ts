import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeTree } from '../../../kernel/remove-tree.ts';
import { nestFolders } from '../../../kernel/testing/nest-folders.ts';
import { toSandboxFolder } from '../folder.ts';
import { removeRemains } from './remains.ts';

it('removes a sandbox whose folders are nested deeper than the longest path', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'remains-'));
  onTestFinished(() => removeTree(dataDir));
  const { path, image } = toSandboxFolder(dataDir, 'deep');
  mkdirSync(image, { recursive: true });
  nestFolders(image);
  const stateDir = join(dataDir, 'state');
  const remains = await removeRemains({ dataDir, stateDir, rootless: { hostAddresses: [] } });
  expect(remains).toEqual({ sandboxes: 1, done: ['removed 1 folder'], problems: [] });
  expect(existsSync(path)).toBe(false);
});
