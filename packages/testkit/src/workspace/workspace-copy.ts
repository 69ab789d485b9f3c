import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

export const workspaceRoot = join(import.meta.dirname, '../../../..');

export interface WorkspaceCopy extends Disposable {
  path: string;
}

/** Copies sources, specs and scripts to a temporary folder that shares the installed dependencies. Removed on disposal. */
export function copyWorkspace(): WorkspaceCopy {
  const path = mkdtempSync(join(tmpdir(), 'skerry-copy-'));
  for (const entry of [
    'packages',
    'bundling',
    'scripts',
    'specs',
    'package.json',
    'pnpm-workspace.yaml',
    'tsconfig.base.json',
  ]) {
    cpSync(join(workspaceRoot, entry), join(path, entry), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !['dist', '.turbo'].includes(basename(source)),
    });
  }
  symlinkSync(join(workspaceRoot, 'node_modules'), join(path, 'node_modules'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
