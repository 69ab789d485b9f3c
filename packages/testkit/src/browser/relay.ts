// Usage: node relay.ts FOLDER PORT…
// Passes connections to ports of loopback on to the unix sockets FOLDER/PORT. The ports are those of a network namespace, the sockets
// are on the host. Ends with the connection to FOLDER/end, which it opens when it listens.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { joinSockets } from './join-sockets.ts';

const [folder = '', ...ports] = process.argv.slice(2);
for (const port of ports) {
  const server = createServer((outside) => joinSockets(outside, connect(join(folder, port))));
  await once(server.listen(Number(port), '127.0.0.1'), 'listening');
}
connect(join(folder, 'end')).once('close', () => process.exit());
