import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { notImplemented } from './not-implemented.ts';

it('answers 501 to exactly the operations that SCOPE.md lists', () => {
  const scope = readFileSync(new URL('../../../../SCOPE.md', import.meta.url), 'utf8');
  const [, platform = ''] = /### Platform API\n([\s\S]*?)\n##/.exec(scope) ?? [];
  const listed = [...platform.matchAll(/^- `([A-Z]+ [^`]+)`$/gm)].map(([, operation]) => operation);
  expect(new Set(listed)).toEqual(new Set(Object.keys(notImplemented)));
});

it('throws an error that names the operation', () => {
  expect(notImplemented['PUT /sandboxes/{sandboxID}/network']).toThrow(
    expect.objectContaining({
      code: 'unimplemented',
      message: expect.stringContaining('PUT /sandboxes/{sandboxID}/network'),
    }),
  );
});
