import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRpcListener } from '../rpc-listener.ts';
import { createSandboxLog } from '../sandbox-log.ts';
import { createSettingsStore } from '../settings.ts';
import { createUsers } from '../system/users.ts';
import { rehearse } from './rehearse.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'envd-rehearse-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('goes through a whole start, and leaves no socket', async () => {
  const sandboxLog = createSandboxLog();
  const failures: unknown[] = [];
  const settings = createSettingsStore();
  const rpc = createRpcListener({
    settings,
    users: createUsers(),
    log: (_message, fields) => void failures.push(fields),
    sandboxLog,
  });
  const path = join(folder, 'rehearsal.sock');
  const answers: string[] = [];
  await rehearse((request, response) => {
    expect(existsSync(path)).toBe(true);
    const write = response.write.bind(response) as (chunk: Uint8Array) => boolean;
    response.write = (chunk: Uint8Array) => {
      answers.push(Buffer.from(chunk).toString());
      return write(chunk);
    };
    rpc(request, response);
  }, path);
  // Where this runs there is no such program, which is how it ends then.
  expect(answers.join('')).toContain('"exited":true');
  expect(failures).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

it('rejects when there is no answer, and leaves no socket then either', async () => {
  await expect(
    rehearse((request) => void request.destroy(), join(folder, 'rehearsal.sock')),
  ).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(readdirSync(folder)).toEqual([]);
});
