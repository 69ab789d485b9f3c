import { ID_COUNT } from '../../../kernel/user-namespace.ts';
import type { Limits } from '../../../runtime.ts';
import type { HostAllowance } from '../cgroup/host-allowance.ts';
import { toOpenFiles } from '../cgroup/open-files.ts';
import { capabilities } from './capabilities.ts';
import type { SeccompProfile } from './seccomp-rules.ts';

/** How the filter is passed: as a program for crun, as a profile for a runtime that compiles it itself. */
export type SeccompInput = { program: Buffer } | { profile: SeccompProfile };

export interface BundleOptions {
  hostname: string;
  limits: Limits;
  /** Where the root is mounted, and what is bound into it. */
  root: string;
  agentDir: string;
  guestDir: string;
  /** The file mounted over the kernel's boot id; undefined where the OCI runtime mounts nothing below /proc. */
  bootIdFile: string | undefined;
  command: readonly string[];
  /** Root inside as seen from the host, and the path of its user namespace; undefined where the runtime makes one. */
  baseId: number;
  userNamespace: string | undefined;
  /** The limit of processes as the host counts them, see `toProcessLimit`. */
  processLimit: number;
  /** Whether the OCI runtime must be kept from mounting over `/tmp`. */
  keepsTmp: boolean;
  cgroupPath: string;
  limitsSwap: boolean;
  seccomp: SeccompInput;
  /** Whether the OCI runtime can set limits; otherwise those of this process apply. */
  setsLimits: boolean;
  host: HostAllowance;
}

const CPU_PERIOD_US = 100_000;
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const secure = ['nosuid', 'nodev', 'noexec'];

/**
 * Paths that expose the kernel or the host, its disks, devices and what they do: empty inside, by a mount over each. All hosts of a
 * kernel have the same ones, because a checkpoint names those that its host had.
 */
export const maskedPaths: readonly string[] = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/buddyinfo',
  '/proc/bus',
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/consoles',
  '/proc/diskstats',
  '/proc/dma',
  '/proc/driver',
  '/proc/dynamic_debug',
  '/proc/fs',
  '/proc/interrupts',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/irq',
  '/proc/kallsyms',
  '/proc/kcore',
  '/proc/keys',
  '/proc/kmsg',
  '/proc/latency_stats',
  '/proc/mdstat',
  '/proc/modules',
  '/proc/mtrr',
  '/proc/pagetypeinfo',
  '/proc/partitions',
  '/proc/pressure',
  '/proc/sched_debug',
  '/proc/schedstat',
  '/proc/scsi',
  '/proc/slabinfo',
  '/proc/softirqs',
  '/proc/swaps',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/tty/driver',
  '/proc/vmallocinfo',
  '/proc/zoneinfo',
  '/sys/block',
  '/sys/bus',
  '/sys/class/block',
  '/sys/dev/block',
  '/sys/devices/pci0000:00',
  '/sys/devices/virtual/block',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
  '/sys/fs',
  '/sys/kernel',
  '/sys/module',
];

/** The bundle's `config.json`, by version 1.0 of the OCI runtime specification. */
export const toBundleConfig = (options: BundleOptions): object => {
  const { limits, seccomp, host } = options;
  const idMappings = [{ containerID: 0, hostID: options.baseId, size: ID_COUNT }];
  const hasProgram = 'program' in seccomp;
  const openFiles = toOpenFiles(host, options.processLimit);
  return {
    ociVersion: '1.0.2',
    hostname: options.hostname,
    root: { path: options.root, readonly: false },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      cwd: '/',
      args: options.command,
      env: [
        `PATH=${path}`,
        'ENVD_SOCKET_DIR=/run/envd',
        'LD_LIBRARY_PATH=/.envd/lib',
        // One heap for all threads of the agent: each further one takes some tens of kilobytes (mallopt(3)).
        'MALLOC_ARENA_MAX=1',
      ],
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      // sudo must work. A setuid program gains ids of this sandbox only, and the filter is set before.
      noNewPrivileges: false,
      // Explicit, also where it equals the inherited value: a server that a service manager protects must not protect
      // sandboxes.
      oomScoreAdj: host.oomScore,
      rlimits: options.setsLimits
        ? [
            { type: 'RLIMIT_NOFILE', soft: openFiles, hard: openFiles },
            { type: 'RLIMIT_CORE', soft: 0, hard: 0 },
          ]
        : [],
    },
    mounts: toMounts(options),
    linux: {
      namespaces: [
        {
          type: 'user',
          ...(options.userNamespace === undefined ? {} : { path: options.userNamespace }),
        },
        ...['pid', 'mount', 'ipc', 'uts', 'network', 'cgroup'].map((type) => ({ type })),
      ],
      uidMappings: idMappings,
      gidMappings: idMappings,
      cgroupsPath: options.cgroupPath,
      resources: {
        devices: [{ allow: false, access: 'rwm' }],
        memory: {
          limit: limits.memoryBytes,
          ...(options.limitsSwap ? { swap: limits.memoryBytes } : {}),
        },
        cpu: { period: CPU_PERIOD_US, quota: Math.round(limits.cpuCount * CPU_PERIOD_US) },
        pids: { limit: options.processLimit },
      },
      sysctl: {
        // Instead of NET_RAW for ping, and of NET_BIND_SERVICE for users.
        'net.ipv4.ping_group_range': `0 ${ID_COUNT - 1}`,
        'net.ipv4.ip_unprivileged_port_start': '0',
        // Programs that request it, as those in Go do, fall back to plain TCP.
        ...(host.hasMultipath ? { 'net.mptcp.enabled': '0' } : {}),
      },
      seccomp: hasProgram ? { defaultAction: 'SCMP_ACT_ALLOW' } : seccomp.profile,
      maskedPaths,
      readonlyPaths: ['/proc/sys', '/proc/sysrq-trigger'],
    },
    annotations: hasProgram ? { 'run.oci.seccomp_bpf_data': seccomp.program.toString('base64') } : {},
  };
};

const toMounts = ({ agentDir, guestDir, bootIdFile, limits, keepsTmp }: BundleOptions): object[] => [
  // runsc ignores a mount of an unknown type, but takes it as one for /tmp.
  ...(keepsTmp ? [{ destination: '/tmp', type: 'none-skerry', source: 'none' }] : []),
  { destination: '/proc', type: 'proc', source: 'proc', options: secure },
  {
    destination: '/dev',
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['nosuid', 'noexec', 'mode=755', 'size=65536k'],
  },
  {
    destination: '/dev/pts',
    type: 'devpts',
    source: 'devpts',
    options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
  },
  {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    // Half of the memory, which these pages count as: the rest is room for the programs that share them.
    options: [...secure, 'mode=1777', `size=${Math.floor(limits.memoryBytes / 2)}`],
  },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: secure },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...secure, 'ro'] },
  { destination: '/.envd', type: 'bind', source: agentDir, options: ['bind', 'ro', 'nosuid', 'nodev'] },
  { destination: '/run/envd', type: 'bind', source: guestDir, options: ['bind', ...secure] },
  ...(bootIdFile === undefined
    ? []
    : [
        {
          destination: '/proc/sys/kernel/random/boot_id',
          type: 'bind',
          source: bootIdFile,
          options: ['bind', 'ro', ...secure],
        },
      ]),
];
