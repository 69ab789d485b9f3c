import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { listen } from '../testing/listen.ts';
import { waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForUrl } from './ready.ts';

const isReady = async (command: string): Promise<boolean> => {
  // Not spawnSync: the servers of these tests answer meanwhile.
  const [status] = await once(spawn('/bin/sh', ['-c', command], { stdio: 'ignore' }), 'exit');
  return status === 0;
};

it('waits for a program that listens on a port, also when it does so for IPv6 only', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(await isReady(waitForPort(port))).toBe(true);
    server.close();
    await once(server, 'close');
    expect(await isReady(waitForPort(port))).toBe(false);
  }
  expect(() => waitForPort(0)).toThrow('port must be');
});

it('waits for a URL with a status', async () => {
  const host = await listen((request, response) =>
    response.writeHead(request.url === '/up' ? 200 : 503).end(),
  );
  expect(await isReady(waitForUrl(`http://${host}/up`))).toBe(true);
  expect(await isReady(waitForUrl(`http://${host}/down?a='b'`))).toBe(false);
  expect(await isReady(waitForUrl(`http://${host}/down`, 503))).toBe(true);
  expect(() => waitForUrl('nothing')).toThrow('url must be');
});

it('waits for a process by the name of its program, also for a long one', async () => {
  const name = 'a-program-with-a-long-name';
  expect(await isReady(waitForProcess(name))).toBe(false);
  const child = spawn('/bin/bash', ['-c', `printf %s ${name} > /proc/$$/comm; read -r line`]);
  await expect.poll(() => isReady(waitForProcess(name))).toBe(true);
  child.kill();
});

it('waits for a file, whatever its name, and for a time', async () => {
  expect(await isReady(waitForFile('/etc/passwd'))).toBe(true);
  expect(await isReady(waitForFile("/no'such file"))).toBe(false);
  expect(waitForTimeout(1_500)).toBe('sleep 2');
  expect(spawnSync('/bin/sh', ['-c', waitForTimeout(0)]).status).toBe(0);
});
