import { Sandbox } from '@skerry/sdk';
import { expect, it } from 'vitest';
import { useSuccessiveServers } from '../stack/successive-servers.ts';

const servers = useSuccessiveServers();

it('a second SIGTERM ends the streams of a server at once, and its sandbox runs on', async () => {
  const server = await servers.start();
  const { sandboxId } = await server.createSandbox();
  const sandbox = await Sandbox.connect(sandboxId, server.connection);
  const endless = await sandbox.commands.run('sleep 600', { background: true, timeoutMs: 0 });
  const broken = endless.wait().catch((error: unknown) => error);
  server.signal('SIGTERM');
  await expect.poll(() => server.log()).toContain('a second signal ends it at once');
  const begin = performance.now();
  server.signal('SIGTERM');
  expect(await servers.ended()).toBe(0);
  // The time for the streams would be 30 s.
  expect(performance.now() - begin).toBeLessThan(10_000);
  expect(await broken).toBeInstanceOf(Error);
  const next = await servers.start();
  const after = await Sandbox.connect(sandboxId, next.connection);
  expect((await after.commands.list()).map(({ pid }) => pid)).toContain(endless.pid);
  await after.kill();
});
