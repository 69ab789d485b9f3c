import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { joinSockets } from './join-sockets.ts';

/** A way for a program to run in a network namespace that only has loopback, with some ports of the host's. */
export interface OwnNetwork {
  /** A program that starts the other one there, with the same arguments and descriptors. */
  readonly program: string;
  /** Resolves when its ports can be reached. */
  readonly ready: Promise<unknown>;
  close(): void;
}

/**
 * Makes it in a folder. Chromium ends all its requests when an address of its network changes, as each start of a sandbox on the host
 * does: in a namespace it is as on another machine.
 */
export async function createOwnNetwork(
  folder: string,
  { program, ports }: { program: string; ports: readonly number[] },
): Promise<OwnNetwork> {
  const servers: Server[] = [];
  const listen = async (name: string, accept: (socket: Socket) => void): Promise<Server> => {
    const server = createServer(accept);
    servers.push(server);
    await once(server.listen(join(folder, name)), 'listening');
    return server;
  };
  for (const port of ports)
    await listen(String(port), (inside) => joinSockets(inside, connect({ host: '127.0.0.1', port })));
  let relay: Socket | undefined;
  const end = await listen('end', (socket) => {
    relay = socket;
  });
  const wrapper = join(folder, 'start');
  const relayProgram = join(import.meta.dirname, 'relay.ts');
  const inside = `ip link set lo up && { '${process.execPath}' '${relayProgram}' '${folder}' ${ports.join(' ')} & } && exec '${program}' "$@"`;
  const quoted = inside.replaceAll("'", `'\\''`);
  writeFileSync(wrapper, `#!/bin/sh\nexec unshare --net sh -c '${quoted}' sh "$@"\n`, { mode: 0o700 });
  return {
    program: wrapper,
    ready: once(end, 'connection'),
    close() {
      relay?.destroy();
      for (const server of servers) server.close();
    },
  };
}
