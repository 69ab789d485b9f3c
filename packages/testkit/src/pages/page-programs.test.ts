import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { createPageReader, elsewhere, pages } from './page-programs.ts';
import { toSource } from './run-page.ts';

it('has programs that compile strictly', () => {
  // Nothing is run, so there is no server.
  using reader = createPageReader({ apiUrl: '', sandboxUrl: '', domain: '', apiKey: '' });
  const programs = pages.flatMap((page) => page.programs).filter(({ language }) => language === 'ts');
  for (const part of programs) reader.write(part.file, toSource(part));
  reader.check(programs.map(({ file }) => file));
});

it('leaves blocks only to tests that exist', () => {
  const tests = Object.values(elsewhere).flatMap((page) => Object.values(page));
  expect(tests.filter((test) => !existsSync(join(import.meta.dirname, test)))).toEqual([]);
});

it('has a row for each code of the errors of the SDK on the page on troubleshooting', () => {
  const source = readFileSync(join(workspaceRoot, 'packages/sdk/src/errors.ts'), 'utf8');
  const [union = ''] = /export type SandboxErrorCode =[^;]*;/.exec(source) ?? [];
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  const page = readFileSync(join(workspaceRoot, 'docs/guides/troubleshooting.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code);
  expect(new Set(rows)).toEqual(new Set(codes));
  expect(rows).toHaveLength(codes.length);
});
