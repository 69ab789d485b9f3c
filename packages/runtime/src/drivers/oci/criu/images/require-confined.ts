import { readFile } from 'node:fs/promises';
import { type DescMessage, isFieldSet, type MessageShape } from '@bufbuild/protobuf';
import { RuntimeError } from '../../../../error.ts';
import {
  CoreSchema,
  type Credentials,
  FileEntrySchema,
  InventorySchema,
  type Mount,
  MountSchema,
  type Namespaces,
  NamespacesSchema,
  type Process,
  ProcessSchema,
  type SeccompFilter,
  SeccompFilterSchema,
  SeccompFiltersSchema,
  type Thread,
  ThreadSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import { ID_COUNT } from '../../../../kernel/user-namespace.ts';
import { capabilityMask } from '../../container/capabilities.ts';
import { INVENTORY_MAGIC_BYTES, parseImage } from './image-file.ts';

/**
 * Checks images that another host has written: CRIU restores what they name with the rights of root, before anything confines it. Rejects
 * with `damaged` unless all processes are in namespaces of their own with the ids, capabilities and filter of a sandbox, and all mounts
 * are those that a sandbox has. `filter` is the program of its filter; undefined where the OCI runtime compiles it.
 */
export const requireConfined = async (
  folder: string,
  { names, filter }: { names: readonly string[]; filter: Buffer | undefined },
): Promise<void> => {
  const read = async <Desc extends DescMessage>(
    schema: Desc,
    name: string,
    magicBytes?: typeof INVENTORY_MAGIC_BYTES,
  ): Promise<MessageShape<Desc>[]> => {
    require(names.includes(name), `there is no image ${name}`);
    try {
      return (await parseImage(schema, await readFile(`${folder}/${name}`), magicBytes)).messages;
    } catch (error) {
      throw toDamaged(`the image ${name} cannot be read`, error);
    }
  };
  const processes = await read(ProcessSchema, 'pstree.img');
  requireTree(processes);
  const [inventory] = await read(InventorySchema, 'inventory.img', INVENTORY_MAGIC_BYTES);
  const [filters] = names.includes('seccomp.img') ? await read(SeccompFiltersSchema, 'seccomp.img') : [];
  let first: Namespaces | undefined;
  for (const { pid, threads } of processes) {
    const [namespaces] = await read(NamespacesSchema, `ids-${pid}.img`);
    first ??= namespaces;
    requireNamespaces(namespaces, { first, host: inventory?.host });
    const chainOf = new Map<number, SeccompFilter[] | undefined>();
    for (const id of threads) {
      const [core] = await read(CoreSchema, `core-${id}.img`);
      require(core?.namespaces === undefined, `thread ${id} names namespaces of its own`);
      requireCredentials(core?.thread?.credentials, `thread ${id}`);
      chainOf.set(id, toChain(core?.thread, filters?.filters ?? []));
    }
    for (const id of threads) {
      const chain = chainOf.get(id) ?? toSharedChain(chainOf.get(pid));
      require(chain !== undefined, `thread ${id} has no filter for system calls`);
      const isOwn = filter === undefined || chain.some(({ program }) => filter.equals(program));
      require(isOwn, `thread ${id} does not have the filter for system calls of this host`);
    }
  }
  for (const name of names.filter((one) => one.startsWith('mountpoints-')))
    for (const mount of await read(MountSchema, name)) requireMount(mount);
  for (const { regular } of await read(FileEntrySchema, 'files.img'))
    require(!isClimbing(regular?.name), 'the name of an open file leads out of the root');
};

const requireTree = (processes: readonly Process[]): void => {
  const pids = new Set(processes.map(({ pid }) => pid));
  const threads = processes.flatMap((process) => process.threads);
  require(pids.size === processes.length, 'two processes have one id');
  require(new Set(threads).size === threads.length, 'two threads have one id');
  require(threads.every(isPid), 'the id of a thread cannot be one');
  for (const { pid, parent, session, threads: own } of processes) {
    require(own.includes(pid), `process ${pid} has no thread of its id`);
    require(pid === 1 ? parent === 0 : pids.has(parent), `process ${pid} is the child of none of them`);
    require(pids.has(session), `the session of process ${pid} has no leader`);
  }
  require(pids.has(1), 'there is no first process');
};

const requireNamespaces = (
  found: Namespaces | undefined,
  { first, host }: { first: Namespaces | undefined; host: Namespaces | undefined },
): void => {
  for (const kind of namespaceKinds) {
    const number = found?.[kind] ?? 0;
    require(number > 0 && number === first?.[kind], `a process is in a ${kind} namespace of its own`);
    // No restore makes a cgroup namespace with `--manage-cgroups=ignore`, so a sandbox that was restored once is in that of the host.
    require(kind === 'cgroup' ||
      number !== host?.[kind], `a process is in the ${kind} namespace of the host`);
  }
};

const requireCredentials = (credentials: Credentials | undefined, who: string): void => {
  require(credentials !== undefined, `${who} has no credentials`);
  const { user, group, effectiveUser, effectiveGroup, savedUser, savedGroup, groups } = credentials;
  const { fileSystemUser, fileSystemGroup } = credentials;
  const ids = [user, group, effectiveUser, effectiveGroup, savedUser, savedGroup, ...groups];
  const areInside = [...ids, fileSystemUser, fileSystemGroup].every((id) => id < ID_COUNT);
  require(areInside, `${who} has the id of a user or group that no sandbox has`);
  const { inheritable, permitted, effective, bounding, ambient } = credentials;
  for (const words of [inheritable, permitted, effective, bounding, ambient])
    require((toMask(words) & ~capabilityMask) === 0n, `${who} has capabilities that no sandbox has`);
};

const requireMount = (mount: Mount): void => {
  const target = toText(mount.target);
  const [source, external] = [toText(mount.source), toText(mount.externalName)];
  require(!mount.withPlugin &&
    !mount.isExternal &&
    mount.fileSystemName.length === 0, `the mount of ${target} is one of another kind`);
  const isKnown =
    external === ''
      ? fileSystems.has(mount.fileSystem)
      : externalMounts.has(external) || (external === FOUND_BY_CRIU && devices.has(source));
  require(isKnown, `the mount of ${target} is not one of a sandbox`);
};

/** The filter of a thread and those that were set before it. Undefined where the image names none. */
const toChain = (
  thread: Thread | undefined,
  filters: readonly SeccompFilter[],
): SeccompFilter[] | undefined => {
  if (thread?.seccompMode !== FILTER_MODE || !isFieldSet(thread, ThreadSchema.field.seccompFilter))
    return undefined;
  const chain: SeccompFilter[] = [];
  for (let found = filters[thread.seccompFilter]; found !== undefined && chain.length < filters.length; ) {
    chain.push(found);
    found = isFieldSet(found, SeccompFilterSchema.field.previous) ? filters[found.previous] : undefined;
  }
  return chain;
};

/** The filters that the first thread of a process brings to the others: CRIU writes equal ones once. */
const toSharedChain = (chain: SeccompFilter[] | undefined): SeccompFilter[] | undefined =>
  chain?.every(({ flags }) => flags === FOR_ALL_THREADS) ? chain : undefined;

const isPid = (id: number): boolean => id >= 1 && id <= MAX_PID;

/** Whether a name of bytes has a folder `..`. */
const isClimbing = (name: Uint8Array | undefined): boolean => toText(name).split('/').includes('..');

const toText = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('latin1');

const toMask = (words: readonly number[]): bigint =>
  words.reduce((mask, word, index) => mask | (BigInt(word) << BigInt(32 * index)), 0n);

// SECCOMP_MODE_FILTER of linux/seccomp.h.
const FILTER_MODE = 2;
// SECCOMP_FILTER_FLAG_TSYNC of linux/seccomp.h.
const FOR_ALL_THREADS = 1;
// PID_MAX_LIMIT of linux/threads.h.
const MAX_PID = 4_194_304;
const namespaceKinds = ['process', 'network', 'ipc', 'uts', 'mount', 'user', 'cgroup'] as const;

/** The kinds of mounts that CRIU makes: proc, sysfs, tmpfs, devpts, mqueue and the overlay of the root, as numbered in mnt.proto. */
const fileSystems: ReadonlySet<number> = new Set([1, 2, 5, 6, 14, 17]);
/** The options of a restore say the source of these. */
const externalMounts: ReadonlySet<string> = new Set(['agent', 'guest', 'boot-id', 'mask']);
/** The name of an external mount whose source is in the image itself: a bind mount of a device of the host. */
const FOUND_BY_CRIU = 'CRIU:AUTOGENERATED';
const devices: ReadonlySet<string> = new Set(
  ['full', 'null', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`),
);

function require(holds: boolean, what: string): asserts holds {
  if (!holds) throw toDamaged(what);
}

const toDamaged = (what: string, cause?: unknown): RuntimeError =>
  new RuntimeError('damaged', `the memory of another host cannot be that of a sandbox: ${what}`, { cause });
