import { once } from 'node:events';
import { isIP, type OnReadOpts } from 'node:net';
import {
  type ConnectionOptions,
  connect,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { agentPort, type SocketReader } from '@skerry/contract/directory';
import { toReadOptions } from '@skerry/contract/read-options';
import { RuntimeError } from '../error.ts';
import { type Answer, parseAnswer, readLine, writeLine } from '../line-protocol.ts';
import { describeRole, parseRole } from './certificate-role.ts';
import type { Credentials } from './credentials.ts';
import { maxAheadBytes } from './join.ts';
import { formatOpening, type Opening, protocols } from './opening.ts';

/** Where a node listens, and the name that its certificate must have. */
export interface NodeAddress {
  name: string;
  host: string;
  port: number;
}

/** The time for the connection and the answer of the node. */
const dialTimeoutMs = 10_000;

/**
 * Connects to a node with the certificate of the platform and sends the opening. Resolves when the node has accepted it. Rejects with
 * the `RuntimeError` of the node, and with `unavailable` when it cannot be reached or is not the node of that name.
 */
export async function dialNode(
  { name, host, port }: NodeAddress,
  options: {
    credentials: Credentials;
    opening: Opening;
    signal?: AbortSignal | undefined;
    /** Replaces how the connection is read. */
    reader?: SocketReader | undefined;
  },
): Promise<{ socket: TLSSocket; answer: Answer }> {
  const { credentials, opening, signal, reader } = options;
  const settings: ConnectionOptions & {
    allowHalfOpen: boolean;
    onread?: OnReadOpts;
    highWaterMark?: number;
  } = {
    host,
    port,
    secureContext: toContext(credentials),
    ALPNProtocols: [opening.use === 'runtime' ? protocols.runtime : protocols.door],
    // RFC 6066 (3): an address is no server name, and a node may be named like one.
    servername: isIP(name) === 0 ? name : '',
    // Allow what the host itself allows: programs inside may end their half first, the agent does not.
    allowHalfOpen: opening.use === 'door' && typeof opening.port === 'number' && opening.port !== agentPort,
    checkServerIdentity: (_host, certificate) => checkIdentity(name, certificate),
    ...toReadOptions(reader, () => socket),
    ...(opening.use === 'door' && { highWaterMark: maxAheadBytes }),
  };
  const socket: TLSSocket = connect(settings);
  // Keep this listener for later errors, too: an error without a listener ends this process.
  socket.on('error', () => undefined);
  socket.setNoDelay(true);
  const late = AbortSignal.timeout(dialTimeoutMs);
  try {
    await once(socket, 'secureConnect', { signal: signal ? AbortSignal.any([signal, late]) : late });
    socket.setKeepAlive(true, dialTimeoutMs);
    await writeLine(socket, formatOpening(opening));
    const answer = parseAnswer(await readLine(socket, { timeoutMs: dialTimeoutMs }));
    return { socket, answer };
  } catch (error) {
    socket.destroy();
    if (error instanceof RuntimeError) throw error;
    const reason = late.aborted ? `no answer for ${dialTimeoutMs / 1000} s` : (error as Error).message;
    throw new RuntimeError('unavailable', `node "${name}" cannot be reached at ${host}:${port}: ${reason}`, {
      cause: error,
    });
  }
}

const contexts = new WeakMap<Credentials, SecureContext>();

/** One for all connections: to parse the certificates takes a third of the processor time of a handshake. */
function toContext(credentials: Credentials): SecureContext {
  const { cert, key, ca } = credentials;
  const context = contexts.get(credentials) ?? createSecureContext({ cert, key, ca, minVersion: 'TLSv1.3' });
  contexts.set(credentials, context);
  return context;
}

/** The names of hosts do not count: a node may move to another address. */
function checkIdentity(name: string, { subjectaltname }: PeerCertificate): Error | undefined {
  const role = parseRole(subjectaltname);
  if (role?.role === 'node' && role.name === name) return undefined;
  return new Error(`its certificate is for ${describeRole(role)}`);
}
