import type { ProbeResult } from '../probe.ts';
import { toInotifyShare } from '../rootless/inotify-share.ts';
import { type HostFacts, readHostFacts } from './host-facts.ts';

export interface CheckOptions {
  /** Whether sandboxes are made in a rootless namespace. */
  rootless: boolean;
  /** Whether the memory cgroups of this host limit swap. Default: true. */
  limitsSwap?: boolean;
  /** Default: those of this host. */
  facts?: HostFacts;
}

/**
 * Looks for settings that prevent sandboxes, or that allow them more than their limits, without trying anything. The
 * first result is the kernel; the others appear only where they are off. A result that is needed and off means that
 * sandboxes cannot work.
 */
export function checkHost({
  rootless,
  limitsSwap = true,
  facts = readHostFacts(),
}: CheckOptions): ProbeResult[] {
  const checks = [checkKernel(facts, rootless), checkUserNamespaces(facts), checkSelinux(facts)];
  const rootChecks = [
    checkSwap(facts, limitsSwap),
    checkHugePages(facts),
    checkNetworkManager(facts),
    checkFileMax(facts),
  ];
  const ownChecks = rootless ? [checkInotify(facts)] : rootChecks;
  return [...checks, checkMemory(facts), ...ownChecks].filter((result) => result !== undefined);
}

/** Mounts with shifted owners on an overlay need 5.19, limits of processes in a user namespace need 5.14. */
const toLeastKernel = (rootless: boolean): string => (rootless ? '5.14' : '5.19');

function checkKernel({ kernelRelease }: HostFacts, rootless: boolean): ProbeResult {
  const least = toLeastKernel(rootless);
  const [major = 0, minor = 0] = kernelRelease.split(/[.-]/).map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  const ok = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  if (ok) return { name: 'kernel', ok, needed: true, found: `Linux ${kernelRelease}` };
  const found = `Linux ${kernelRelease} is too old: ${rootless ? 'rootless sandboxes need' : 'sandboxes need'} ${least} or newer`;
  const mend = `boot Linux ${least} or newer: apt-get install -y -t $(. /etc/os-release; echo $VERSION_CODENAME)-backports linux-image-amd64 && reboot`;
  return { name: 'kernel', ok, needed: true, found, mend };
}

function checkUserNamespaces({ setting }: HostFacts): ProbeResult | undefined {
  if (setting('user.max_user_namespaces') !== 0) return undefined;
  return {
    name: 'user namespaces',
    ok: false,
    needed: true,
    found: 'user.max_user_namespaces is 0: no sandbox can have ids of its own',
    mend: persist('user.max_user_namespaces=65536'),
  };
}

function checkSelinux({ enforcesSelinux }: HostFacts): ProbeResult | undefined {
  if (!enforcesSelinux) return undefined;
  return {
    name: 'selinux',
    ok: false,
    needed: true,
    found: 'SELinux is enforcing, and no policy for the sandboxes of skerry exists',
    mend: "setenforce 0 && sed -i 's/^SELINUX=enforcing/SELINUX=permissive/' /etc/selinux/config",
  };
}

/** The memory of a sandbox of the base template, with that of the server and the agent. */
const LEAST_MEMORY_BYTES = 1.5 * 2 ** 30;

function checkMemory({ memoryBytes }: HostFacts): ProbeResult | undefined {
  if (memoryBytes >= LEAST_MEMORY_BYTES) return undefined;
  const mebibytes = Math.round(memoryBytes / 2 ** 20);
  return {
    name: 'host memory',
    ok: false,
    needed: false,
    found: `${mebibytes} MiB: a sandbox of the base template may take 1024 MiB`,
    mend: 'skerry up --base-memory 256, before the first sandbox of a data folder',
  };
}

function checkSwap({ swapBytes }: HostFacts, limitsSwap: boolean): ProbeResult | undefined {
  if (swapBytes === 0 || limitsSwap) return undefined;
  return {
    name: 'swap',
    ok: false,
    needed: false,
    found: 'this host swaps, and its kernel does not count swap: a sandbox can use swap beyond its memory',
    mend: 'swapoff -a, or boot with swapaccount=1',
  };
}

function checkHugePages({ hugePages }: HostFacts): ProbeResult | undefined {
  if (hugePages === 0) return undefined;
  return {
    name: 'hugepages',
    ok: false,
    needed: false,
    found: `${hugePages} are reserved: a sandbox can use them beyond its memory`,
    mend: persist('vm.nr_hugepages=0'),
  };
}

function checkInotify({ setting }: HostFacts): ProbeResult | undefined {
  const ofUser = setting('fs.inotify.max_user_instances');
  if (ofUser === undefined || ofUser >= 1024) return undefined;
  return {
    name: 'inotify',
    ok: false,
    needed: false,
    found: `fs.inotify.max_user_instances is ${ofUser}, which all sandboxes of this user share with the user's own programs; each may take ${toInotifyShare(ofUser)}`,
    mend: persist('fs.inotify.max_user_instances=8192'),
  };
}

/** Twice what a sandbox of 1024 processes can open when each has the 4096 files that are the least. */
const LEAST_FILE_MAX = 2 * 1024 * 4096;

function checkFileMax({ setting }: HostFacts): ProbeResult | undefined {
  const fileMax = setting('fs.file-max');
  if (fileMax === undefined || fileMax >= LEAST_FILE_MAX) return undefined;
  return {
    name: 'file-max',
    ok: false,
    needed: false,
    found: `fs.file-max is ${fileMax}: the programs of one sandbox can open more than half of that, and others none then`,
    mend: persist(`fs.file-max=${4 * LEAST_FILE_MAX}`),
  };
}

function checkNetworkManager({ leavesLinksToNetworkManager }: HostFacts): ProbeResult | undefined {
  if (!leavesLinksToNetworkManager) return undefined;
  return {
    name: 'NetworkManager',
    ok: false,
    needed: false,
    found: 'it is running, and no setting excludes the links of sandboxes',
    mend: "printf '[keyfile]\\nunmanaged-devices=interface-name:skv*\\n' > /etc/NetworkManager/conf.d/skerry.conf && nmcli general reload",
  };
}

/** The line that sets it now and for the next boot. */
export const persist = (...settings: string[]): string =>
  `printf '${settings.map((setting) => `${setting}\\n`).join('')}' >> /etc/sysctl.d/99-skerry.conf && sysctl -p /etc/sysctl.d/99-skerry.conf`;
