import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';

let root: string;
beforeEach(async () => {
  // Below this package: the tests of the folder import vitest.
  const parent = join(import.meta.dirname, '../../node_modules/.mutation');
  await mkdir(parent, { recursive: true });
  root = await mkdtemp(join(parent, 'run-tests-'));
});
afterEach(() => rm(root, { recursive: true }));

it('notices a defect that takes all memory of the worker, and runs the tests of the next defect', async () => {
  const path = join(root, 'start.ts');
  const intact = 'export const start = async (): Promise<number> => 1;\n';
  const ending = `export const start = async (): Promise<number> => {
    for (const kept = []; ; ) kept.push(new Array(100_000).fill(0));
  };\n`;
  await writeFile(path, intact);
  await writeFile(
    join(root, 'start.test.ts'),
    `import { expect, it } from 'vitest';
    import { start } from './start.ts';
    it('starts', async () => { expect(await start()).toBe(1); });\n`,
  );
  const program = `
    const { openTests } = await import(${JSON.stringify(join(import.meta.dirname, 'run-tests.ts'))});
    const runner = await openTests(${JSON.stringify(root)}, { files: ['start.test.ts'], pool: 'threads' });
    const defects = ${JSON.stringify([undefined, ending, `${intact}// Equal.`, intact.replace('1;', '2;'), ending])};
    const noticed = [];
    for (const source of defects)
      noticed.push(await runner.isNoticed(source ? { path: ${JSON.stringify(path)}, source } : undefined));
    await runner.close();
    console.log(JSON.stringify(noticed));
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    // The least in which vitest runs; the workers have it too.
    '--max-old-space-size=256',
    '--input-type=module',
    '-e',
    program,
  ]);
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual([false, true, false, true, true]);
});
