// An edge with TLS in a process of its own, before one server: node main.ts INSIDE_PORT CERTIFICATE. Writes its port.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { toReadOptions } from '@skerry/contract/read-options';
import {
  createEdge,
  type Directory,
  edgeServerOptions,
  guardConnections,
  type Route,
  toConnectionBounds,
} from '@skerry/edge';
import { createSecureFront } from '@skerry/edge/secure';

const [insidePort, certificateFile = ''] = process.argv.slice(2);
const pem = readFileSync(certificateFile, 'utf8');
const log = { warn: (message: string, fields?: object) => console.error(message, fields) };

const route: Route = {
  runId: 'run',
  agent: { edgeNonce: 'nonce' },
  ports: {},
  async connect(_port, { reader } = {}) {
    const socket: Socket = connect({
      port: Number(insidePort),
      host: '127.0.0.1',
      ...toReadOptions(reader, () => socket),
    });
    await once(socket, 'connect');
    return socket;
  },
};
const directory: Directory = {
  find: async () => route,
  findDormant: async () => undefined,
  onEnd: () => () => undefined,
};
const server = createServer(edgeServerOptions);
const front = createSecureFront({ server, certificate: { cert: pem, key: pem }, log });
const guard = guardConnections(server, { bounds: toConnectionBounds(8_192), front: front.listener, log });
const edge = createEdge({
  directory,
  domain: 'example.test',
  log,
  onRouted: (request) => guard.accept(request, 'routed'),
});
server.on('request', (request, response) => {
  guard.begin(request, response);
  edge.handle(request, response);
});
front.listener.listen(0, '127.0.0.1', () => console.log((front.listener.address() as AddressInfo).port));
process.once('SIGTERM', () => process.exit(0));
