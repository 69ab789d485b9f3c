import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { runSkerry } from './run-skerry.ts';

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

describe('a server whose base image cannot be made', () => {
  const start = async (baseImage: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'skerry-refused-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const places = ['--data', join(folder, 'data'), '--images', join(folder, 'images'), '--port', '0'];
    const options = ['--no-memory', '--base', 'minimal', '--base-image', baseImage];
    return runSkerry(['up', ...places, ...options]);
  };

  it('shows what the apt of the image has written, line by line, and says what to name instead', async () => {
    const folder = makeBusyboxFolder(['sh', 'echo']);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const name of ['usr', 'usr/bin']) mkdirSync(join(folder, name));
    const apt = '#!/bin/sh\necho "Err: no route"; echo "E: no lists"; exit 100\n';
    writeFileSync(join(folder, 'usr/bin/apt-get'), apt, { mode: 0o755 });
    await using registry = await startDebianRegistry();
    await registry.push('base', { folder });
    const { code, stdout, stderr } = await start(`${registry.host}/base`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const [message = '', hint] = stderr.trimEnd().split('\n').slice(-2);
    expect(stderr).toContain('\nErr: no route\nE: no lists\nskerry: ');
    expect(message).toMatch(
      /^skerry: the base image was not made: installing .*git.* in a sandbox failed: .* status 100$/,
    );
    expect(hint).toContain('  name an image that has them');
  });

  it('says that the registry has no such image', async () => {
    await using registry = await startDebianRegistry();
    const { code, stderr } = await start(`${registry.host}/nothing`);
    expect(code).toBe(1);
    expect(stderr).toContain('skerry: the base image was not made: ');
    expect(stderr).not.toContain('internal error');
  });
});
