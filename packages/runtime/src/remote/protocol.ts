import type { GuestSockets } from '../drivers/guest-socket.ts';
import { parseInstanceId, parseTreeOrigin } from '../drivers/instance-spec.ts';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import type { Difference, Features, InstanceState, SnapshotInfo, TreeOrigin, Usage } from '../runtime.ts';

/*
 * One JSON object a line, both ways. The client numbers its requests and may have any number under way; each gets
 * exactly one reply, and a list any number of items before it. Events come unasked, after `watch`.
 */

export interface Calls {
  describe: { params: object; result: { name: string; features: Features } };
  /** The one place where a spec is checked is the server: a wrong one is answered with an error, naming the field. */
  create: { params: { spec: unknown }; result: InstanceDescription };
  get: { params: { instance: string }; result: InstanceDescription };
  list: { params: object; result: null };
  state: { params: Target; result: InstanceState };
  usage: { params: Target; result: Usage };
  stop: { params: Target; result: null };
  pause: { params: Target & { memory: boolean }; result: null };
  resume: { params: Target & { memory?: boolean }; result: InstanceDescription };
  snapshot: { params: Target & { snapshot: string; memory: boolean; ephemeral: boolean }; result: null };
  listSnapshots: { params: object; result: null };
  verifySnapshot: { params: { snapshot: string }; result: string[] };
  diff: { params: { from: TreeOrigin; to: TreeOrigin }; result: null };
  deleteSnapshot: { params: { snapshot: string }; result: null };
  /** Asks for an `exit` event when that run is over; it comes at once when it is over already. */
  watch: { params: Run; result: null };
  /** Aborts a request that is under way; that one still gets its reply, when everything it made is gone. */
  cancel: { params: { request: number }; result: null };
}

/** One instance: what is meant for it does not touch a later one of the same id, but says `not_found`. */
export interface Target {
  instance: string;
  birthId: string;
}

/** One run of an instance, from a start to the next pause or end. */
export interface Run {
  instance: string;
  runId: string;
}

export type Method = keyof Calls;
export type Params<M extends Method> = Calls[M]['params'];
export type Result<M extends Method> = Calls[M]['result'];

export type Request = { [M in Method]: { id: number; method: M } & Params<M> }[Method];

/** What a client needs to know of an instance to reach its agent by itself. */
export interface InstanceDescription {
  id: string;
  birthId: string;
  runId: string;
  sockets: GuestSockets;
}

/** What a list consists of. */
export type Item = InstanceDescription | SnapshotInfo | Difference;

export type Message =
  | { id: number; result: unknown }
  | { id: number; error: { code: RuntimeErrorCode; message: string } }
  | { id: number; item: Item }
  | { event: 'exit'; instance: string; runId: string };

/** Longer than the longest path Linux takes, twice. */
export const maxRequestBytes = 16_384;
export const maxMessageBytes = 65_536;
/** What does not fit a message ends the connection and all that is under way on it, whoever it is for. */
export const maxErrorLength = 4_096;

/** Throws when the line is not exactly one of the requests above. */
export function parseRequest(line: string): Request {
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null) throw malformed('not an object');
  const { id, method, ...rest } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(id)) throw malformed('no number');
  const fields = rest as {
    spec: unknown;
    instance: unknown;
    memory: unknown;
    ephemeral: unknown;
    snapshot: unknown;
    from: unknown;
    to: unknown;
    birthId: unknown;
    runId: unknown;
    request: unknown;
  };
  const make = (names: readonly string[], request: object): Request => {
    if (Object.keys(rest).some((name) => !names.includes(name))) throw malformed('an unknown field');
    return { id, method, ...request } as Request;
  };
  switch (method) {
    case 'describe':
    case 'list':
    case 'listSnapshots':
      return make([], {});
    case 'create':
      return make(['spec'], { spec: fields.spec });
    case 'get':
      return make(['instance'], { instance: parseInstanceId(fields.instance) });
    case 'state':
    case 'usage':
    case 'stop':
      return make(['instance', 'birthId'], parseTarget(fields));
    case 'watch':
      return make(['instance', 'runId'], parseRun(fields));
    case 'resume':
      return make(['instance', 'birthId', 'memory'], {
        ...parseTarget(fields),
        ...(fields.memory !== undefined && parseMemory(fields)),
      });
    case 'pause':
      return make(['instance', 'birthId', 'memory'], { ...parseTarget(fields), ...parseMemory(fields) });
    case 'snapshot':
      return make(['instance', 'birthId', 'snapshot', 'memory', 'ephemeral'], {
        ...parseTarget(fields),
        ...parseSnapshot(fields),
        ...parseMemory(fields),
        ...parseEphemeral(fields),
      });
    case 'diff':
      return make(['from', 'to'], {
        from: parseTreeOrigin(fields.from, 'from'),
        to: parseTreeOrigin(fields.to, 'to'),
      });
    case 'verifySnapshot':
    case 'deleteSnapshot':
      return make(['snapshot'], parseSnapshot(fields));
    case 'cancel':
      if (!Number.isSafeInteger(fields.request)) throw malformed('request');
      return make(['request'], { request: fields.request });
    default:
      throw malformed('unknown method');
  }
}

function parseTarget({ instance, birthId }: { instance: unknown; birthId: unknown }): Target {
  if (typeof birthId !== 'string') throw malformed('birthId');
  return { instance: parseInstanceId(instance), birthId };
}

function parseMemory({ memory }: { memory: unknown }): { memory: boolean } {
  if (typeof memory !== 'boolean') throw malformed('memory');
  return { memory };
}

function parseEphemeral({ ephemeral }: { ephemeral: unknown }): { ephemeral: boolean } {
  if (typeof ephemeral !== 'boolean') throw malformed('ephemeral');
  return { ephemeral };
}

function parseSnapshot({ snapshot }: { snapshot: unknown }): { snapshot: string } {
  return { snapshot: parseInstanceId(snapshot, 'snapshot') };
}

function parseRun({ instance, runId }: { instance: unknown; runId: unknown }): Run {
  if (typeof runId !== 'string') throw malformed('runId');
  return { instance: parseInstanceId(instance), runId };
}

const malformed = (what: string): RuntimeError => new RuntimeError('internal', `malformed request: ${what}`);
