import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('runs a call on another thread with a stack that recursion of 1 MiB does not overflow', () => {
  // regcomp(3) calls itself for each parenthesis.
  const script = `import koffi from ${JSON.stringify(new URL('./native.ts', import.meta.url).href)};
    const regcomp = koffi.load(null).func('int regcomp(_Out_ void *, const char *, int)');
    const depth = 2000;
    const pattern = '('.repeat(depth) + 'a' + ')'.repeat(depth);
    regcomp.async(Buffer.alloc(256), pattern, 1, (error, code) => process.stdout.write(String(error ?? code)));`;
  // In a process of its own: a stack that is too small ends it.
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  expect({ stdout, signal }).toEqual({ stdout: '0', signal: null });
});
