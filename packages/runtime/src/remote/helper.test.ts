import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

/** What a process of its own prints that prepares itself so and then starts the helper. */
const startAfter = (preparation: string): string => {
  const dataDir = mkdtempSync(join(tmpdir(), 'helper-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  mkdirSync(join(dataDir, 'run'));
  const helper = fileURLToPath(new URL('./helper.ts', import.meta.url));
  const script = `import { openSync } from 'node:fs';
    import { startHelper } from ${JSON.stringify(helper)};
    process.stdout.write('');
    ${preparation}
    const { code } = await startHelper(${JSON.stringify({ dataDir, agentDir: dataDir })}).catch((error) => error);
    // Time for an error without a listener to end the process.
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.stdout.write(code);`;
  const argv = [
    '-c',
    'ulimit -n 64; exec "$0" "$@"',
    process.execPath,
    '--input-type=module-typescript',
    '-e',
  ];
  return execFileSync('sh', [...argv, script], { encoding: 'utf8' });
};

it('rejects with unavailable, and the server lives on, when there is no file descriptor left', () => {
  expect(startAfter(`try { for (;;) openSync('/dev/null'); } catch { /* No descriptor is left. */ }`)).toBe(
    'unavailable',
  );
});

it('rejects with unavailable, and the server lives on, when the program cannot be run', () => {
  expect(startAfter(`process.execPath = '/nowhere/node';`)).toBe('unavailable');
});
