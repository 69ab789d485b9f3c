import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareAgentFolder } from '../agent-folder/agent-folder.ts';

/**
 * Makes a bundle with the suite's guest, in place of that of the agent, in a folder below `base`; resolves with that
 * folder.
 */
export const prepareSuiteBundle = async (base: string): Promise<string> => {
  const bundleDir = join(base, 'bundle');
  await mkdir(bundleDir, { recursive: true });
  await copyFile(fileURLToPath(new URL('./guest.cjs', import.meta.url)), join(bundleDir, 'main.js'));
  return bundleDir;
};

/** Makes an agent folder with the suite's guest, below `base`; resolves with that folder. */
export const prepareSuiteAgent = async (base: string): Promise<string> => {
  const bundleDir = await prepareSuiteBundle(base);
  return prepareAgentFolder({ targetDir: join(base, 'agent'), nodePath: process.execPath, bundleDir });
};
