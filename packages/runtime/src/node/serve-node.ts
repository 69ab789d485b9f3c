import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { ConnectRouter } from '@connectrpc/connect';
import { boundStrangers } from '@skerry/contract/strangers';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { RuntimeError, toRuntimeError } from '../error.ts';
import { NodeService } from '../gen/skerry/node/v1/node_pb.ts';
import { formatAnswer, readLine, writeLine } from '../line-protocol.ts';
import { createRuntimeEndpoint } from '../remote/runtime-endpoint.ts';
import { describeRole, parseRole } from './certificate-role.ts';
import type { Credentials } from './credentials.ts';
import { openDoor } from './door.ts';
import { createFirstBytesServer } from './first-bytes-server.ts';
import { type NodeImageFiles, openImageDoor } from './image-door.ts';
import { type NodeDescription, toDescriptionMessage } from './node-description.ts';
import { type FolderEntries, type NodeFolder, parseFolder } from './node-folders.ts';
import { type Claim, parseOpening, protocols } from './opening.ts';
import { openOwnerRecord } from './owner-record.ts';
import { openSnapshotDoor } from './snapshot-door.ts';

export interface NodeServer {
  /** The address on this host, in the form that clients dial. */
  readonly address: { host: string; port: number };
  /**
   * The epoch of the server that owns the node, also before that has connected again; undefined: none has
   * claimed it yet.
   */
  readonly epoch: number | undefined;
  /** Stops listening, ends every connection and waits until unfinished calls are undone. The runtime stays open. */
  close(): Promise<void>;
}

export interface NodeServerOptions {
  /** 0 picks a free port. */
  listen: { host: string; port: number };
  credentials: Credentials;
  /** Path of the record of the owner, in an existing folder. */
  ownerFile: string;
  /** Called for each answer. */
  describe: () => NodeDescription;
  measureFolder(folder: NodeFolder): Promise<FolderEntries>;
  /** The images of templates, which servers read and write. */
  images: NodeImageFiles;
  /** The unix socket at which the driver of this host stores and fetches snapshots. */
  snapshotSocket: string;
  /** Adds services for the owner beside that of the runtime. */
  addServices?: (router: ConnectRouter) => void;
  /** Called with each server that becomes the owner. */
  onOwner: (owner: Claim) => void;
  /** Called with what a connection failed with, where the other side has no use for it. */
  onError: (error: Error) => void;
  /** Called with what others can cause without a certificate, which may be as often as they like. */
  onStranger: (message: string, fields: Record<string, unknown>) => void;
}

/** A connection that does not begin with a line in that time is ended. */
const openingTimeoutMs = 10_000;

/** A server opens as many connections at once as it has requests to sandboxes, from one address; 1,024 take some 90 MB. */
const STRANGERS = { all: 1_024, ofAddress: 768, timeoutMs: openingTimeoutMs };

/**
 * Offers a runtime to the servers of one installation, over TLS 1.3 with certificates on both sides: the services of `proto/` to
 * the server that owns the node, and streams to agents to all of them. A server with a higher epoch replaces the owner, whose
 * connections end. Resolves when it listens.
 */
export async function serveNode(runtime: AddressedRuntime, options: NodeServerOptions): Promise<NodeServer> {
  const { credentials, describe, onError, onOwner } = options;
  const record = openOwnerRecord(options.ownerFile);
  const endpoint = createRuntimeEndpoint(runtime, {
    onError,
    addServices: (router) => {
      router.service(NodeService, {
        describeNode: () => toDescriptionMessage(describe()),
        measureFolder: async function* ({ folder }) {
          for (const [name, sizeBytes] of await options.measureFolder(parseFolder(folder)))
            yield { name, sizeBytes: BigInt(sizeBytes) };
        },
      });
      options.addServices?.(router);
    },
  });
  const strangers = boundStrangers('the port for servers', { bounds: STRANGERS, log: options.onStranger });
  const sockets = new Set<Socket>();
  /** The connections of the present owner, which end when another one takes over. */
  const owned = new Set<Socket>();

  const takeOver = (claim: Claim): void => {
    if (!record.accept(claim)) return;
    for (const socket of owned) socket.destroy();
    owned.clear();
    onOwner(claim);
  };

  const serve = async (socket: TLSSocket): Promise<void> => {
    try {
      requirePlatform(socket);
      const opening = parseOpening(await readLine(socket, { timeoutMs: openingTimeoutMs }));
      strangers.accept(socket);
      if (opening.use !== 'runtime' && record.current?.installation !== opening.installation)
        throw new RuntimeError('unavailable', 'this node belongs to no server, or to another installation');
      if (opening.use === 'image') {
        await openImageDoor(options.images, opening, socket);
        return;
      }
      if (opening.use === 'snapshot') {
        await openSnapshotDoor(options.snapshotSocket, opening, socket);
        return;
      }
      if (opening.use === 'door') {
        await openDoor(runtime, opening, socket, () => void socket.write(formatAnswer()));
        return;
      }
      if (socket.alpnProtocol !== protocols.runtime)
        throw new RuntimeError('unsupported', 'the wrong protocol');
      takeOver(opening);
      owned.add(socket);
      socket.once('close', () => owned.delete(socket));
      await writeLine(socket, formatAnswer());
      // Another server may have taken over meanwhile.
      if (!socket.destroyed) endpoint.server.emit('connection', socket);
    } catch (error) {
      const failure = toRuntimeError(error, 'the opening of a connection');
      if (failure.code === 'internal') onError(failure);
      socket.end(formatAnswer(failure));
      // The other side may never close its half.
      socket.setTimeout(openingTimeoutMs, () => socket.destroy());
    }
  };

  const server = createServer({
    cert: credentials.cert,
    key: credentials.key,
    ca: credentials.ca,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    ALPNProtocols: Object.values(protocols),
    // The agent may end its half of a stream before the client does.
    allowHalfOpen: true,
  });
  server.on('secureConnection', (socket) => {
    // The other side may reset the connection at any time: an error without a listener ends this process.
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, openingTimeoutMs);
    void serve(socket);
  });
  server.on('tlsClientError', (error, { remoteAddress }) =>
    options.onStranger('a connection of another machine failed', { address: remoteAddress, error }),
  );
  const front = createFirstBytesServer({
    onOpen: (socket) => {
      strangers.add(socket);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    onBytes: (socket) => server.emit('connection', socket),
  });
  const listening = once(front, 'listening');
  front.listen(options.listen);
  await listening;
  const { address, port } = front.address() as AddressInfo;
  return {
    address: { host: address, port },
    get epoch() {
      return record.current?.epoch;
    },
    close: async () => {
      const closed = once(front, 'close');
      front.close();
      await endpoint.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function requirePlatform(socket: TLSSocket): void {
  const role = parseRole(socket.getPeerX509Certificate()?.subjectAltName);
  if (role?.role !== 'platform')
    throw new RuntimeError(
      'unsupported',
      `the certificate is for ${describeRole(role)}, and not for the platform`,
    );
}
