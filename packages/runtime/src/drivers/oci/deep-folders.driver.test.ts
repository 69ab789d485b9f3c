import { existsSync, mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nestFolders } from '../../kernel/testing/nest-folders.ts';
import { toSandboxFolder } from './folder.ts';
import { useOci } from './testing/oci-fixture.ts';

const oci = useOci({ name: 'deep' });

it('ends a sandbox that has nested folders deeper than a path can be long', async () => {
  const instance = await oci.create();
  // Where its disk is a folder of the host, as without root, the sandbox makes them by itself.
  const { path, memory } = toSandboxFolder(oci.dataDir, instance.id);
  mkdirSync(memory, { recursive: true });
  nestFolders(memory);
  await instance.stop();
  expect(existsSync(path)).toBe(false);
});
