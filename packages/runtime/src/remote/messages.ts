import type { MessageInitShape } from '@bufbuild/protobuf';
import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import type { AddressedInstance, GuestSockets } from '../drivers/guest-socket.ts';
import { parseImagePath } from '../drivers/instance-spec.ts';
import { toPathBytes, toPathText } from '../drivers/path-text.ts';
import { RuntimeError } from '../error.ts';
import * as wire from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { type NetworkPolicy, parseNetworkPolicy } from '../network/policy.ts';
import type {
  Difference,
  DifferentField,
  ExportedImage,
  Features,
  InstanceSpec,
  InstanceState,
  Kept,
  TreeOrigin,
  Usage,
} from '../runtime.ts';

/*
 * Converts between the types of the port and the messages of the protocol. `parseX` takes a received message. Requests are within the bounds
 * of their schema; `parseX` checks what that cannot express, and throws `internal`.
 */

/** The data of an instance with which a client reaches its agent directly. */
export interface InstanceDescription {
  id: string;
  birthId: string;
  runId: string;
  isolation: IsolationLevel;
  sockets: GuestSockets;
}

/** One instance. A call for it does not affect a later instance of the same id: it fails with `not_found`. */
export interface Target {
  instance: string;
  birthId: string;
}

/** One run of an instance, from a start to the next pause or end. */
export interface Run {
  instance: string;
  runId: string;
}

export const toInstanceMessage = ({ id, birthId, runId, isolation, sockets }: AddressedInstance) => ({
  instance: { id, birthId, runId, isolation, sockets: { http: sockets.http, control: sockets.control } },
});

export function parseInstance({ instance }: { instance?: wire.Instance | undefined }): InstanceDescription {
  if (!instance?.sockets) throw malformed('no instance');
  const { id, birthId, runId, sockets } = instance;
  return {
    ...{ id, birthId, runId, isolation: parseLevel(instance.isolation) },
    sockets: { http: sockets.http, control: sockets.control },
  };
}

export function parseTarget({ target }: { target?: Target | undefined }): Target {
  if (!target) throw malformed('no target');
  return { instance: target.instance, birthId: target.birthId };
}

export function parseRun({ run }: { run?: wire.Run | undefined }): Run {
  if (!run) throw malformed('no run');
  return { instance: run.instance, runId: run.runId };
}

export const toFeaturesMessage = ({ levels, ...features }: Features) => ({
  ...features,
  levels: Object.entries(levels).map(([name, kept]) => ({ name, ...kept })),
});

export const parseFeatures = ({ features }: wire.DescribeResponse): Features => {
  const { limits } = features ?? {};
  if (!features || !limits) throw malformed('features');
  return {
    level: parseLevel(features.level),
    minimumLevel: parseLevel(features.minimumLevel),
    levels: Object.fromEntries(
      features.levels.map((one) => [
        parseLevel(one.name),
        { ...parseKept(one), ...(one.isExpected && { isExpected: true }) },
      ]),
    ),
    programs: features.programs,
    ...parseKept(features),
    imageExport: features.imageExport,
    network: features.network,
    nameRules: features.nameRules,
    limits: {
      cpu: limits.cpu,
      memory: limits.memory,
      disk: limits.disk,
      processes: limits.processes,
    },
  };
};

const parseKept = ({ pause, snapshot }: Pick<wire.Features, 'pause' | 'snapshot'>): Kept => {
  if (!pause || !snapshot) throw malformed('features');
  return {
    pause: { memory: pause.memory, filesystem: pause.filesystem },
    snapshot: { memory: snapshot.memory, filesystem: snapshot.filesystem },
  };
};

const parseLevel = (name: string): IsolationLevel => {
  const level = isolationLevels.find((one) => one === name);
  if (level === undefined) throw malformed(`no isolation level: ${JSON.stringify(name).slice(0, 100)}`);
  return level;
};

export const toSpecMessage = (spec: InstanceSpec): MessageInitShape<typeof wire.InstanceSpecSchema> => {
  const { id, hostname, limits, network, isolation } = spec;
  return {
    id,
    hostname,
    network: JSON.stringify(network),
    ...(isolation && { isolation }),
    limits: {
      cpuCount: limits.cpuCount,
      memoryBytes: toUint64(limits.memoryBytes, 'limits.memoryBytes'),
      diskBytes: toUint64(limits.diskBytes, 'limits.diskBytes'),
      processCount: toUint64(limits.processCount, 'limits.processCount'),
    },
    origin:
      'snapshot' in spec
        ? { case: 'snapshot', value: spec.snapshot }
        : { case: 'rootfs', value: spec.rootfs },
  };
};

/** Parses the spec of an instance. Throws `internal`, naming the field. */
export const parseSpec = ({ spec }: wire.CreateRequest): InstanceSpec => {
  const { id, hostname, limits, network, isolation, origin } = spec ?? {};
  if (!id || !hostname || !limits || network === undefined) throw malformed('no spec');
  return {
    ...(origin?.case === 'snapshot'
      ? { snapshot: origin.value }
      : { rootfs: parseImagePath(origin?.value, 'spec.rootfs') }),
    id,
    hostname,
    limits: {
      cpuCount: limits.cpuCount,
      memoryBytes: Number(limits.memoryBytes),
      diskBytes: Number(limits.diskBytes),
      processCount: Number(limits.processCount),
    },
    network: parseNetwork({ network }),
    ...(isolation !== undefined && { isolation: parseLevel(isolation) }),
  };
};

/** Parses the policy of a message. Throws `internal`, naming the field. */
export const parseNetwork = ({ network }: { network: string }): NetworkPolicy =>
  parseNetworkPolicy(parseJson(network));

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // Return undefined for what is no policy: the caller reports it.
    return undefined;
  }
};

export const toOriginMessage = (origin: TreeOrigin): MessageInitShape<typeof wire.TreeOriginSchema> => {
  if ('instance' in origin) return { origin: { case: 'instance', value: origin.instance } };
  if ('snapshot' in origin) return { origin: { case: 'snapshot', value: origin.snapshot } };
  return { origin: { case: 'rootfs', value: origin.rootfs } };
};

/** Parses which files are to be compared. Throws `internal`, naming the field. */
export const parseOrigin = (message: wire.TreeOrigin | undefined, field: string): TreeOrigin => {
  const origin = message?.origin;
  if (origin?.case === 'instance') return { instance: origin.value };
  if (origin?.case === 'snapshot') return { snapshot: origin.value };
  return { rootfs: parseImagePath(origin?.value, `${field}.rootfs`) };
};

export const toExportedImageMessage = ({ digest, sizeBytes }: ExportedImage) => ({
  digest,
  sizeBytes: toUint64(sizeBytes, 'sizeBytes'),
});

export const parseExportedImage = ({ digest, sizeBytes }: wire.ExportImageResponse): ExportedImage => ({
  digest,
  sizeBytes: Number(sizeBytes),
});

export const toUsageMessage = (usage: Usage): MessageInitShape<typeof wire.GetUsageResponseSchema> => ({
  cpuTimeMs: usage.cpuTimeMs,
  memoryBytes: toUint64(usage.memoryBytes, 'memoryBytes'),
  cacheBytes: toUint64(usage.cacheBytes, 'cacheBytes'),
  diskBytes: toUint64(usage.diskBytes, 'diskBytes'),
  freeDiskBytes: toUint64(usage.freeDiskBytes, 'freeDiskBytes'),
  processCount: toUint64(usage.processCount, 'processCount'),
  ...(usage.oomKills === undefined ? {} : { oomKills: toUint64(usage.oomKills, 'oomKills') }),
});

export const parseUsage = (message: wire.GetUsageResponse): Usage => ({
  cpuTimeMs: message.cpuTimeMs,
  memoryBytes: Number(message.memoryBytes),
  cacheBytes: Number(message.cacheBytes),
  diskBytes: Number(message.diskBytes),
  freeDiskBytes: Number(message.freeDiskBytes),
  processCount: Number(message.processCount),
  ...(message.oomKills === undefined ? {} : { oomKills: Number(message.oomKills) }),
});

/** Returns the usage of each instance by its birth id. */
export const parseUsages = ({ measured }: wire.ListUsageResponse): Map<string, Usage> =>
  new Map(measured.flatMap(({ birthId, usage }) => (usage ? [[birthId, parseUsage(usage)]] : [])));

const states: Record<InstanceState, wire.InstanceState> = {
  running: wire.InstanceState.RUNNING,
  paused: wire.InstanceState.PAUSED,
  stopped: wire.InstanceState.STOPPED,
};
export const toStateMessage = (state: InstanceState): { state: wire.InstanceState } => ({
  state: states[state],
});
export const parseState = ({ state }: wire.GetStateResponse): InstanceState => parseName(states, state);

/** Returns the state of each instance by its birth id. */
export const parseStates = ({ found }: wire.ListStatesResponse): Map<string, InstanceState> =>
  new Map(found.map(({ birthId, state }) => [birthId, parseName(states, state)]));

const changes: Record<Difference['change'], wire.Change> = {
  added: wire.Change.ADDED,
  removed: wire.Change.REMOVED,
  changed: wire.Change.CHANGED,
};
const fields: Record<DifferentField, wire.DifferentField> = {
  type: wire.DifferentField.TYPE,
  mode: wire.DifferentField.MODE,
  uid: wire.DifferentField.UID,
  gid: wire.DifferentField.GID,
  sizeBytes: wire.DifferentField.SIZE_BYTES,
  target: wire.DifferentField.TARGET,
  device: wire.DifferentField.DEVICE,
  xattrs: wire.DifferentField.XATTRS,
  content: wire.DifferentField.CONTENT,
};

export const toDifferenceMessage = (
  difference: Difference,
): MessageInitShape<typeof wire.DiffResponseSchema> => ({
  path: toPathBytes(difference.path),
  change: changes[difference.change],
  fields: difference.fields?.map((field) => fields[field]) ?? [],
});

export const parseDifference = (message: wire.DiffResponse): Difference => {
  const change = parseName(changes, message.change);
  return {
    path: parsePath(message.path),
    change,
    ...(change === 'changed' && { fields: message.fields.map((field) => parseName(fields, field)) }),
  };
};

/** Converts each name separately: a name that is not UTF-8 does not change how the others are spelled. */
function parsePath(path: Uint8Array): string {
  const names: string[] = [];
  for (let start = 0, end = 0; end !== path.length; start = end + 1) {
    const slash = path.indexOf(0x2f, start);
    end = slash === -1 ? path.length : slash;
    names.push(toPathText(Buffer.from(path.subarray(start, end))));
  }
  return names.join('/');
}

function parseName<Name extends string, Value extends number>(
  names: Record<Name, Value>,
  value: Value,
): Name {
  for (const name of Object.keys(names) as Name[]) if (names[name] === value) return name;
  throw malformed(`an unknown value ${value}`);
}

function toUint64(value: number, field: string): bigint {
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new RuntimeError('internal', `${field} is a whole number`);
}

const malformed = (what: string): RuntimeError => new RuntimeError('internal', `malformed message: ${what}`);
