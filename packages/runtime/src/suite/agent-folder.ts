import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';

/** Hostile code controls the folder that the agent shares with the host, and the host opens sockets in it. */
export const agentFolderSuite = (host: SuiteHost): void => {
  describe("the agent's folder", () => {
    it('never leads the host elsewhere when root inside replaces a socket by a link', async () => {
      const instance = await host.create();
      await using trap = await openTrap(host);
      const { path } = trap;
      const swap = `cd /run/envd && for s in http control; do mv $s.sock $s.real; ln -s ${path} $s.sock; done`;
      await runInside(instance, swap);
      await expect(instance.connect(49_983)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(instance.control()).rejects.toMatchObject({ code: 'unavailable' });
      expect(trap.accepted).toEqual([]);
    });

    it('never leads the host elsewhere when links and sockets are swapped all the time', async () => {
      const instance = await host.create();
      await using trap = await openTrap(host);
      const { path } = trap;
      const swap = `rename('/run/envd/control.sock', '/run/envd/real'); symlink('${path}', '/run/envd/link')`;
      const race = `${swap}; while (1) { rename('/run/envd/link', '/run/envd/control.sock'); symlink('${path}', '/run/envd/link'); link('/run/envd/real', '/run/envd/next'); rename('/run/envd/next', '/run/envd/control.sock') }`;
      await runInside(instance, `setsid perl -e "${race}" >/dev/null 2>&1 </dev/null & sleep 0.2`);
      const outcomes = new Set<string>();
      // On a busy host the swapping program may not run for seconds.
      const end = Date.now() + 30_000;
      for (let turn = 0; turn < 100 || (outcomes.size < 2 && Date.now() < end); turn++) {
        const stream = await instance.control().catch((error: { code: string }) => error.code);
        outcomes.add(typeof stream === 'string' ? stream : 'connected');
        if (typeof stream !== 'string') stream.destroy();
      }
      // Both were seen, so it was a race.
      expect([...outcomes].sort()).toEqual(['connected', 'unavailable']);
      expect(trap.accepted).toEqual([]);
    });

    it('does not block the host when root inside puts a pipe or a folder there', async () => {
      const instance = await host.create();
      await runInside(
        instance,
        'cd /run/envd && rm http.sock && mkfifo http.sock && rm control.sock && mkdir control.sock',
      );
      await expect(instance.connect(49_983)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(instance.control()).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
};

/** A socket of the host, which must not be reached. */
const openTrap = async (host: SuiteHost): Promise<{ path: string; accepted: string[] } & AsyncDisposable> => {
  const accepted: string[] = [];
  const path = join(host.dataDir, 'host.sock');
  const server = createServer((socket) => {
    accepted.push('connected');
    socket.destroy();
  });
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    accepted,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
};
