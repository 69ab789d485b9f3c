import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, which is removed with the resources. */
export function temporaryFolder(resources: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-bench-'));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
