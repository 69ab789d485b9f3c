import type { Socket } from 'node:net';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import { isInstanceId } from '../instance-id.ts';
import { parseSnapshotRequest, type SnapshotRequest } from '../stored/snapshot-request.ts';

/*
 * The first line of each connection to a node, as JSON, and the line that answers it. After an accepted opening the connection
 * carries HTTP/2 with the services of `proto/`, or the raw bytes of a stream to an agent.
 */

/**
 * Rises when an older side could not understand a newer one. A version understands the one before it as well, so that servers and nodes
 * can be upgraded one after the other.
 */
const PROTOCOL = 1;

/** Of TLS (RFC 7301), so that a connection for one use cannot be taken for one of the other. */
export const protocols = { runtime: 'h2', door: 'skerry-door' };

/** With the end of the line. */
const maxLineBytes = 8_192;

/** A server that uses the node as its owner. Of two, the one with the higher epoch owns it. */
export interface Claim {
  /** The servers that share one store. A node belongs to one of these groups. */
  installation: string;
  /** One process. */
  owner: string;
  epoch: number;
}

/** A stream to the agent of one run. */
export interface DoorRequest {
  installation: string;
  instance: string;
  /** Undefined: the caller knows the run only, which is of one birth. */
  birthId?: string;
  runId: string;
  /** A port inside, or the private channel of the agent. */
  port: number | 'control';
}

/** An image of a template, whose bytes follow the answer or the request. */
export interface ImageRequest {
  installation: string;
  /** `find` only asks whether it is there. */
  way: 'find' | 'read' | 'write';
  digest: string;
  /** Of what is written; otherwise 0. */
  sizeBytes: number;
}

export type Opening =
  | ({ use: 'runtime' } & Claim)
  | ({ use: 'door' } & DoorRequest)
  | ({ use: 'image' } & ImageRequest)
  | ({ use: 'snapshot'; installation: string } & SnapshotRequest);

/** What an answer says beside its success. */
export interface Answer {
  /** Of an image that is read. */
  sizeBytes?: number;
  /** Whether an image is there. */
  found?: boolean;
}

/** Writes the first line of a connection. */
export const formatOpening = (opening: Opening): string =>
  `${JSON.stringify({ protocol: PROTOCOL, ...opening })}\n`;

/** Reads the first line of a connection. Throws `RuntimeError` with a message for the other side. */
export const parseOpening = (line: string): Opening => {
  const given = parseObject(line);
  requireNeighbour(given.protocol);
  const { use, installation, owner, epoch, instance, birthId, runId, port } = given;
  if (!isText(installation)) throw malformed('installation');
  if (use === 'runtime') {
    if (!isText(owner)) throw malformed('owner');
    if (!Number.isSafeInteger(epoch) || (epoch as number) < 1) throw malformed('epoch');
    return { use, installation, owner, epoch: epoch as number };
  }
  if (use === 'image') return { use, installation, ...parseImageRequest(given) };
  if (use === 'snapshot') return { use, installation, ...parseSnapshotRequest(given) };
  if (use !== 'door') throw malformed('use');
  if (!isText(instance) || !isInstanceId(instance)) throw malformed('instance');
  if ((birthId !== undefined && !isText(birthId)) || !isText(runId)) throw malformed('run');
  if (port !== 'control' && !Number.isInteger(port)) throw malformed('port');
  const run = { instance, ...(birthId !== undefined && { birthId }), runId };
  return { use, installation, ...run, port: port as number | 'control' };
};

/** Throws `unsupported` unless this side and the other one understand each other. */
const requireNeighbour = (protocol: unknown): void => {
  const [oldest, newest] = [Math.max(1, PROTOCOL - 1), PROTOCOL + 1];
  const given = Number(protocol);
  if (Number.isSafeInteger(protocol) && given >= oldest && given <= newest) return;
  const behind = given > newest ? 'the node' : 'the server';
  throw new RuntimeError(
    'unsupported',
    `the node has version ${PROTOCOL} of the protocol of nodes and works with servers of versions ${oldest} to ${newest}, and this server has ${String(protocol)}: upgrade ${behind}`,
  );
};

const parseImageRequest = ({
  way,
  digest,
  sizeBytes,
}: Record<string, unknown>): Omit<ImageRequest, 'installation'> => {
  if (way !== 'find' && way !== 'read' && way !== 'write') throw malformed('way');
  if (!isText(digest) || !/^sha256:[0-9a-f]{64}$/.test(digest)) throw malformed('digest');
  if (!isSize(sizeBytes)) throw malformed('sizeBytes');
  return { way, digest, sizeBytes };
};

/** Writes the answer to an opening. */
export const formatAnswer = (answer: Answer | RuntimeError = {}): string =>
  `${JSON.stringify(answer instanceof RuntimeError ? { code: answer.code, message: answer.message.slice(0, 1_000) } : answer)}\n`;

/** Reads that answer. Throws the `RuntimeError` that it reports. */
export const parseAnswer = (line: string): Answer => {
  const { code, message, sizeBytes, found } = parseObject(line);
  if (code !== undefined) throw new RuntimeError(code as RuntimeErrorCode, String(message));
  return { ...(isSize(sizeBytes) && { sizeBytes }), ...(typeof found === 'boolean' && { found }) };
};

/**
 * Writes a line and resolves when the system has it: HTTP/2 takes the connection over below Node's streams, and Node aborts when a
 * write of theirs is unfinished then. Resolves also when the connection breaks, which its next use reports.
 */
export const writeLine = (socket: Socket, line: string): Promise<void> =>
  new Promise((resolve) => {
    socket.write(line, () => resolve());
  });

/**
 * Reads one line from a connection and leaves the bytes after it in its stream. Rejects with `unavailable` when the connection ends,
 * the line is too long, or it takes longer than that.
 */
export function readLine(socket: Socket, { timeoutMs }: { timeoutMs: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const settle = (): void => {
      clearTimeout(timer);
      socket.off('readable', take).off('error', fail).off('end', end).off('close', end);
    };
    const fail = (cause: unknown): void => {
      settle();
      reject(
        new RuntimeError('unavailable', `the connection failed: ${(cause as Error).message}`, { cause }),
      );
    };
    const end = (): void => fail(new Error('the other side closed it'));
    const take = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      read = Buffer.concat([read, chunk]);
      const at = read.indexOf(0x0a);
      if (at < 0 && read.length < maxLineBytes) return;
      if (at < 0) {
        fail(new Error('its first line is too long'));
        return;
      }
      settle();
      const rest = read.subarray(at + 1);
      if (rest.length > 0) socket.unshift(rest);
      resolve(read.toString('utf8', 0, at));
    };
    const timer = setTimeout(() => fail(new Error(`no answer for ${timeoutMs} ms`)), timeoutMs);
    socket.on('readable', take).on('error', fail).on('end', end).on('close', end);
    if (socket.destroyed) end();
  });
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200;

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const malformed = (field: string): RuntimeError =>
  new RuntimeError('unsupported', `the opening of the connection has no valid "${field}"`);

/** Reads a line of JSON. Throws `unsupported` for what is no object. */
export const parseObject = (line: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new RuntimeError(
    'unsupported',
    'the other side of the connection does not speak the protocol of nodes',
  );
};
