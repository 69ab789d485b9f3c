import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changedPaths, expectKeptOrRefused } from '../stack/changed-paths.ts';
import { expectVisitsToEnd } from '../stack/kept-visits.ts';
import { type Stack, startStack } from '../stack/stack.ts';

describe.each(isolationLevels)('a pause with memory at level %s', (level: IsolationLevel) => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ args: ['--isolation', level] });
  });
  afterAll(() => stack?.[Symbol.asyncDispose]());

  const create = async (): Promise<Sandbox> =>
    Sandbox.connect((await stack.createSandbox({ timeoutSeconds: 600 })).sandboxId, stack.connection);

  it.each(Object.entries(changedPaths))('keeps exactly, or is refused with, %s', async (_, changed) => {
    const sandbox = await create();
    await expectKeptOrRefused(stack, sandbox, { changed, level });
    expect(await sandbox.kill()).toBe(true);
  });

  it('ends the connections of a server that answers its visitors and never closes, each time', async () => {
    const sandbox = await create();
    await expectVisitsToEnd(stack, sandbox);
    await sandbox.kill();
  });
});
