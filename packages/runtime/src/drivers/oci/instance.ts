import { statfs } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { type AddressedInstance, connectGuest, connectGuestSocket } from '../../guest-socket.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import type { LifeLine } from './life-line.ts';

export interface OciInstanceOptions {
  host: OciHost;
  id: string;
  runId: string;
  /** Undefined when nothing of the sandbox lives any more. */
  line: LifeLine | undefined;
  stop: () => Promise<void>;
}

export const createInstance = ({ host, id, runId, line, stop }: OciInstanceOptions): AddressedInstance => {
  const folder = toSandboxFolder(host.dataDir, id);
  const cgroup = host.cgroup(id);
  const sockets = { http: `${folder.guest}/http.sock`, control: `${folder.guest}/control.sock` };
  const unsupported = (what: string) => (): Promise<never> =>
    Promise.reject(new RuntimeError('unsupported', `this runtime cannot ${what} an instance`));
  return {
    id,
    runId,
    sockets,
    state: async () => (line === undefined || line.isEnded() ? 'stopped' : cgroup.state()),
    connect: (port, options) => connectGuest({ sockets, port, signal: options?.signal }),
    control: (options) => connectGuestSocket({ path: sockets.control, signal: options?.signal }),
    pause: unsupported('pause'),
    resume: unsupported('resume'),
    snapshot: unsupported('take a snapshot of'),
    usage: async () => {
      const [used, disk] = await Promise.all([cgroup.usage(), readDiskUsage(folder.disk)]);
      return { ...used, diskBytes: disk };
    },
    stop,
    onExit: (listener) => {
      let isListening = true;
      void (line?.ended ?? Promise.resolve()).then(() => {
        if (isListening) listener();
      });
      return () => {
        isListening = false;
      };
    },
  };
};

const readDiskUsage = async (disk: string): Promise<number> => {
  try {
    const { bsize, blocks, bfree } = await statfs(disk);
    return bsize * (blocks - bfree);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
};
