import { freemem, totalmem } from 'node:os';
import { ApiError, notFound } from '@skerry/contract/error';
import { isRuntimeError, type Runtime } from '@skerry/runtime';
import type { HostImages } from '../images/template-images.ts';
import { type StorageFolders, toOwnMachine } from '../storage/storage-machines.ts';
import { type Host, type Hosts, SPARE_MEMORY } from './hosts.ts';
import { NO_SERVERS } from './other-servers.ts';

/** The machine of this server as the only host. */
export const createOneMachine = ({
  runtime,
  images,
  folders,
}: {
  runtime: Runtime;
  /** Absent: templates cannot be built. */
  images?: HostImages | undefined;
  /** Where the runtime and the composition root keep what they make, so that it can be measured. */
  folders?: StorageFolders | undefined;
}): Hosts => {
  const host: Host = {
    node: null,
    runtime,
    images,
    prepare: async (origin) => origin,
    room: () => undefined,
  };
  const here = async (): Promise<Host> => host;
  return {
    features: runtime.features,
    reserve: async ({ without }, attempt) => {
      const result = without?.includes(null) ? 'node_full' : await attempt(host);
      if (result === 'node_full') throw noCapacity();
      return result;
    },
    of: () => host,
    ofSnapshot: here,
    forBuild: here,
    homeOf: async () => null,
    reachable: () => [host],
    instances: async function* () {
      for await (const instance of runtime.list()) yield { host, instance };
    },
    snapshots: async function* () {
      for await (const snapshot of runtime.snapshots.list()) yield { host, snapshot };
    },
    canReach: () => true,
    isCordoned: () => false,
    warmRoomOf: () => (freemem() > totalmem() * SPARE_MEMORY ? 'free' : 'short'),
    owns: () => true,
    owned: 'all',
    isBuilder: true,
    servers: NO_SERVERS,
    nodes: {
      list: async () => [],
      setCordoned: async (name) => {
        throw noNode(name);
      },
      forget: async (name) => {
        throw noNode(name);
      },
      disks: () => [toOwnMachine(folders, images)],
    },
    copies: undefined,
    findMissing: async () => ((await answers(runtime)) ? [] : ['driver']),
    start: async () => {},
    close: async () => {},
  };
};

/** Whether the driver says of an instance that there is none: it has looked then. */
const answers = (runtime: Runtime): Promise<boolean> =>
  runtime.get('none').then(
    () => true,
    (error: unknown) => isRuntimeError(error, 'not_found'),
  );

const noNode = (name: string): ApiError =>
  notFound(`node "${name}" was not found: this server makes sandboxes itself`);

const noCapacity = (): ApiError =>
  new ApiError('unavailable', 'this host has no capacity for another sandbox now', {
    reason: 'sandbox_capacity_unavailable',
  });
