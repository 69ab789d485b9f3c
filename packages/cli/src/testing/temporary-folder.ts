import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Makes a folder that goes away with the test that asked for it. */
export function createTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
