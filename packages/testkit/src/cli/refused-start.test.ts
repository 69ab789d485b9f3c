import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';

async function takePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it.each([
  { option: '--port', toFlags: (port: number) => ['--host', '127.0.0.1', '--port', String(port)] },
  {
    option: '--metrics-listen',
    toFlags: (port: number) => ['--port', '0', '--metrics-listen', `127.0.0.1:${port}`],
  },
])('refuses a taken $option by its name, before it makes anything', async ({ option, toFlags }) => {
  const port = await takePort();
  const folder = mkdtempSync(join(tmpdir(), 'skerry-refused-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const images = join(folder, 'images');
  const argv = ['up', '--data', join(folder, 'data'), '--images', images, ...toFlags(port)];
  const { status, stdout, stderr } = spawnSync(skerryProgram, argv, { encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: `skerry: ${option}: cannot listen at 127.0.0.1:${port}: a program listens there already; name another port, 0 for a free one\n`,
  });
  expect(existsSync(images)).toBe(false);
});
