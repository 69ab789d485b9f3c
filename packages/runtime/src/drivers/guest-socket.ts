import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { agentPort, type SocketReader } from '@skerry/contract/directory';
import { toReadOptions } from '@skerry/contract/read-options';
import { RuntimeError } from '../error.ts';
import type { Instance, Runtime } from '../runtime.ts';

/** The agent's two sockets as the host sees them: absolute paths in the sandbox's folder. */
export interface GuestSockets {
  http: string;
  control: string;
}

/** An instance whose agent is reached over sockets, so that another process can open them without the driver. */
export interface AddressedInstance extends Instance {
  readonly sockets: GuestSockets;
  /** Set by the create and kept over every pause: distinguishes instances that had the same id one after the other. */
  readonly birthId: string;
}

export interface AddressedRuntime extends Runtime {
  create(...args: Parameters<Runtime['create']>): Promise<AddressedInstance>;
  get(id: string): Promise<AddressedInstance>;
  list(): AsyncIterable<AddressedInstance>;
}

/** An agent needs a millisecond. A silent one would otherwise hold a descriptor of this process for each attempt. */
const handshakeTimeoutMs = 10_000;

/**
 * Linux: open(2); Node has no constant for it. The file itself is not opened, so neither a pipe nor a device can block.
 */
const O_PATH = 0o10000000;

/**
 * Opens a byte stream to a port inside: `Instance.connect` of every driver whose agent listens on sockets. Rejects as
 * that does.
 */
export const connectGuest = ({
  sockets,
  ...options
}: {
  sockets: GuestSockets;
  port: number;
  signal?: AbortSignal | undefined;
  reader?: SocketReader | undefined;
}): Promise<Duplex> =>
  options.port === agentPort
    ? connectGuestSocket({ path: sockets.http, ...options })
    : tunnel({ controlPath: sockets.control, ...options });

/**
 * Connects to a unix socket in a folder that the sandbox can write to. A link, a pipe or a file that the sandbox puts
 * in its place is neither followed nor opened. Rejects with `unavailable` when it is not a socket, nothing listens or
 * the signal aborts.
 */
export async function connectGuestSocket(options: {
  path: string;
  signal?: AbortSignal | undefined;
  /** Keeps this half open when the other side has ended its own. */
  allowHalfOpen?: boolean;
  reader?: SocketReader | undefined;
}): Promise<Socket> {
  const { path, signal, allowHalfOpen = false, reader } = options;
  if (signal?.aborted) throw aborted(signal);
  let file: number;
  let socket: Socket;
  try {
    // Waits for nothing, and other threads would take many times as long.
    file = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    throw new RuntimeError('unavailable', 'the socket of the agent does not exist', { cause: error });
  }
  try {
    if (!fstatSync(file).isSocket()) throw new RuntimeError('unavailable', `${path} is not a socket`);
    // The name in /proc leads to the very file that was checked, also when the path has changed meanwhile.
    socket = await connectPath({ path: `/proc/self/fd/${file}`, allowHalfOpen, signal, reader });
  } finally {
    closeSync(file);
  }
  if (socket.destroyed) throw new RuntimeError('unavailable', 'the agent ended the connection at once');
  return socket;
}

/**
 * Opens a byte stream to any port inside, through the agent. Rejects with `refused` when nothing listens there and with
 * `unavailable` when the agent does not answer.
 */
export async function tunnel(options: {
  controlPath: string;
  port: number;
  signal?: AbortSignal | undefined;
  reader?: SocketReader | undefined;
  /** How long the agent may take to answer. Default 10 s. */
  timeoutMs?: number;
}): Promise<Duplex> {
  const { controlPath, port, signal, reader, timeoutMs = handshakeTimeoutMs } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new RuntimeError('refused', `a port must be 1 to 65535, got ${port}`);
  }
  const socket = await connectGuestSocket({ path: controlPath, signal, reader, allowHalfOpen: true });
  return new Promise((resolve, reject) => {
    const authority = `localhost:${port}`;
    const call = request({
      method: 'CONNECT',
      path: authority,
      headers: { host: authority },
      createConnection: () => socket,
      maxHeaderSize: 8_192,
    });
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const fail = (error: RuntimeError): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(aborted(signal));
    const timer = setTimeout(
      () => fail(new RuntimeError('unavailable', `the agent did not answer for ${timeoutMs} ms`)),
      timeoutMs,
    );
    signal?.addEventListener('abort', abort, { once: true });
    call.on('connect', (response, _socket, head) => {
      if (response.statusCode !== 200) {
        const code = response.statusCode === 502 ? 'refused' : 'unavailable';
        fail(new RuntimeError(code, `the agent answered ${response.statusCode} for port ${port}`));
        return;
      }
      settle();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    call.on('response', (response) => {
      response.destroy();
      fail(new RuntimeError('unavailable', 'the agent did not answer CONNECT with HTTP'));
    });
    call.on('error', (error) =>
      fail(new RuntimeError('unavailable', 'the agent ended the tunnel', { cause: error })),
    );
    call.end();
  });
}

function connectPath(options: {
  path: string;
  allowHalfOpen: boolean;
  signal: AbortSignal | undefined;
  reader: SocketReader | undefined;
}): Promise<Socket> {
  const { path, allowHalfOpen, signal, reader } = options;
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ path, allowHalfOpen, ...toReadOptions(reader, () => socket) });
    // The sandbox may reset the connection before the caller listens: an error without a listener ends this process.
    socket.on('error', () => undefined);
    const settle = (): void => {
      socket.off('connect', succeed);
      socket.off('error', fail);
      signal?.removeEventListener('abort', abort);
    };
    const succeed = (): void => {
      settle();
      resolve(socket);
    };
    const fail = (error: Error): void => {
      settle();
      reject(new RuntimeError('unavailable', 'the agent does not listen', { cause: error }));
    };
    const abort = (): void => {
      settle();
      socket.destroy();
      reject(aborted(signal));
    };
    socket.on('connect', succeed);
    socket.on('error', fail);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
  });
}

const aborted = (signal: AbortSignal | undefined): RuntimeError =>
  new RuntimeError('unavailable', 'waiting for the agent was aborted', { cause: signal?.reason });
