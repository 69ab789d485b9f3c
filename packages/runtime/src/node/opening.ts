import { parseSnapshotRequest, type SnapshotRequest } from '../blob-copies/snapshot-request.ts';
import { RuntimeError } from '../error.ts';
import { isInstanceId } from '../instance-id.ts';
import { isSize, parseObject } from '../line-protocol.ts';

/*
 * The first line of each connection to a node, as JSON, and the line that answers it. After an accepted opening the connection
 * carries HTTP/2 with the services of `proto/`, or the raw bytes of a stream to an agent.
 */

/**
 * Rises when an older side could not understand a newer one. A version understands the one before it as well, so that servers and nodes
 * can be upgraded one after the other.
 */
const PROTOCOL = 1;

/** The protocol names in TLS (RFC 7301): a connection for one use cannot be taken for one of the other. */
export const protocols = { runtime: 'h2', door: 'skerry-door' };

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
  /** The size of what is written; otherwise 0. */
  sizeBytes: number;
}

export type Opening =
  | ({ use: 'runtime' } & Claim)
  | ({ use: 'door' } & DoorRequest)
  | ({ use: 'image' } & ImageRequest)
  | ({ use: 'snapshot'; installation: string } & SnapshotRequest);

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

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200;

const malformed = (field: string): RuntimeError =>
  new RuntimeError('unsupported', `the opening of the connection has no valid "${field}"`);
