import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { build, Template, templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { skerryProgram } from '../stack/skerry-program.ts';

let stack: SharedStack;

beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** Why the newest build of a template failed; undefined when it has not. */
async function readReason(name: string): Promise<string | undefined> {
  const found = await stack.api.GET('/templates/aliases/{alias}', { params: { path: { alias: name } } });
  const templateID = found.data?.templateID ?? '';
  const listed = await stack.api.GET('/templates/{templateID}', { params: { path: { templateID } } });
  const path = { templateID, buildID: listed.data?.builds[0]?.buildID ?? '' };
  const params = { path };
  return (await stack.api.GET('/templates/{templateID}/builds/{buildID}/status', { params })).data?.reason
    ?.message;
}

it('ends on the server when its handle cancels it, and its name can be built again', async () => {
  const endless = Template().fromTemplate('base').run('echo begun; sleep 1000');
  const handle = build(endless, 'canceled', stack.connection);
  for await (const { message } of handle) if (message === 'begun') break;
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ code: 'canceled' });
  expect(await readReason('canceled')).toBe('the build was canceled');
  const again = build(Template().fromTemplate('base').run('true'), 'canceled', stack.connection);
  expect(await again.result()).toMatchObject({ name: 'canceled' });
  // The build has ended, and stays as it is.
  await again.cancel();
  expect(await templates.exists('canceled', stack.connection)).toBe(true);
  expect(await readReason('canceled')).toBeUndefined();
});

it.each([
  { signal: 'SIGINT', status: 130 },
  { signal: 'SIGTERM', status: 143 },
] as const)(
  'ends on the server when skerry template build gets $signal, which prints one line',
  async ({ signal, status }) => {
    const folder = mkdtempSync(join(tmpdir(), 'skerry-canceled-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'Dockerfile'), 'FROM e2bdev/base\nRUN echo begun; sleep 1000\n');
    const name = `stopped-${status}`;
    const { apiUrl, apiKey } = stack.address;
    const argv = ['template', 'build', '--api-url', apiUrl, '--api-key', apiKey, name, folder];
    const child = spawn(process.execPath, [skerryProgram, ...argv], { stdio: ['ignore', 'ignore', 'pipe'] });
    const shown = text(child.stderr);
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => String(chunk).includes('  begun') && resolve());
    });
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([status, null]);
    expect((await shown).split('  begun\n')[1]).toBe('skerry: the build was canceled\n');
    expect(await readReason(name)).toBe('the build was canceled');
  },
);
