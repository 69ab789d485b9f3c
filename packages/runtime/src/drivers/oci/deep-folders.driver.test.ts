import { existsSync, mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nestFolders } from '../../kernel/testing/nest-folders.ts';
import { toSandboxFolder } from './folder.ts';
import { useOci } from './testing/oci-fixture.ts';

const oci = useOci({ name: 'deep' });

it('removes a sandbox whose folders are nested deeper than the longest path', async () => {
  const instance = await oci.create();
  // Where the disk is a folder of the host, as without root, the sandbox itself can make such folders.
  const { path, memory } = toSandboxFolder(oci.dataDir, instance.id);
  mkdirSync(memory, { recursive: true });
  nestFolders(memory);
  await instance.stop();
  expect(existsSync(path)).toBe(false);
});
