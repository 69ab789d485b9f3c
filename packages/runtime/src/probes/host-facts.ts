import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the kernel and the system report in files. */
export interface HostFacts {
  /** The kernel's release, such as `6.1.0-37-amd64`. */
  kernelRelease: string;
  /** A setting by its name for sysctl(8); undefined where the kernel does not have it. */
  setting(name: string): number | undefined;
  /** Whether SELinux is present and enforcing. */
  enforcesSelinux: boolean;
  memoryBytes: number;
  swapBytes: number;
  hugePages: number;
  /** Whether NetworkManager is running and no file of its configuration names the links of sandboxes. */
  leavesLinksToNetworkManager: boolean;
}

/** Reads the facts below `root`, which is `/` for this host. A missing file means that the host lacks the feature. */
export function readHostFacts(root = '/'): HostFacts {
  const read = (path: string): string => {
    try {
      return readFileSync(join(root, path), 'utf8');
    } catch {
      // A host without the file lacks the feature.
      return '';
    }
  };
  const meminfo = read('proc/meminfo');
  const toCount = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(meminfo)?.[1] ?? 0);
  return {
    kernelRelease: read('proc/sys/kernel/osrelease').trim(),
    setting: (name) => {
      const text = read(`proc/sys/${name.replaceAll('.', '/')}`).trim();
      return text === '' ? undefined : Number(text);
    },
    enforcesSelinux: read('sys/fs/selinux/enforce').trim() === '1',
    memoryBytes: toCount('MemTotal') * 1024,
    swapBytes: toCount('SwapTotal') * 1024,
    hugePages: toCount('HugePages_Total'),
    leavesLinksToNetworkManager: existsSync(join(root, 'run/NetworkManager')) && !namesLinks(root, read),
  };
}

/** The folders of NetworkManager.conf(5). */
function namesLinks(root: string, read: (path: string) => string): boolean {
  const folders = ['etc', 'run', 'usr/lib'].map((folder) => `${folder}/NetworkManager/conf.d`);
  const files = folders.flatMap((folder) => {
    const path = join(root, folder);
    return existsSync(path) ? readdirSync(path).map((name) => `${folder}/${name}`) : [];
  });
  return [...files, 'etc/NetworkManager/NetworkManager.conf'].some((file) =>
    /^\s*unmanaged-devices\s*=.*interface-name:skv\*/m.test(read(file)),
  );
}
