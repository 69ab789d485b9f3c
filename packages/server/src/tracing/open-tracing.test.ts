import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** The modules of OpenTelemetry that Node loads for an import. */
const listLoaded = async (path: string): Promise<string[]> => {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { if (url.includes('opentelemetry')) loaded.push(url); return next(url, context); } });
    await import(${JSON.stringify(new URL(path, import.meta.url).href)});
    console.log(JSON.stringify(loaded));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(stdout);
};

it('loads no module of OpenTelemetry before traces are sent somewhere', async () => {
  expect(await listLoaded('../start-server.ts')).toEqual([]);
  expect((await listLoaded('./open-tracing.ts')).length).toBeGreaterThan(10);
});
