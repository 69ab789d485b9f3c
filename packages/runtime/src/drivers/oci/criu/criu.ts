import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { RuntimeError } from '../../../error.ts';
import { findClosedFolders, openClosedFolders } from '../../../kernel/closed-folders.ts';
import { type Program, runProgramSync, startProgram } from '../../../kernel/start-program.ts';
import { createMemoryFile, mount } from '../../../kernel/syscalls.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { joinCgroups } from '../cgroup/join-cgroups.ts';
import { watchOomKills } from '../cgroup/watch-oom-kills.ts';
import { createCriuHook, HOOK_DEADLINE_MS } from './criu-hook.ts';
import { toMemoryDeadlineMs } from './memory-deadline.ts';
import { readCriuVersion, toCriuCommand } from './prepare-criu.ts';
import { actsAsOwner } from './workarounds/act-as-owner.ts';
import { isRefusal } from './workarounds/refusals.ts';

/** The program that dumps processes to files and restores them, unpacked by `prepareCriu`. */
export interface Criu {
  /**
   * Dumps the processes of the tree under `pid` to `imagesDir`. They stay frozen when their cgroup was; without
   * `whileHeld`, their TCP sockets stay in the state that `endRepair` ends. Rejects with `internal`, with `exhausted`
   * where memory was short, or as `whileHeld`: the processes continue then, once they are thawed and continued. When
   * CRIU is killed, at its deadline or by another process, the process that it was working on may end. Connections that
   * it was reading then fail until the processes are frozen again; a kill after `whileHeld` has begun does not have
   * that effect, since the processes are frozen then.
   */
  dump(options: DumpOptions): Promise<void>;
  /**
   * Restores the processes, stopped, and resolves with the pid of the first. When it rejects, what was restored still
   * exists; all of it, the program too, is a member of the cgroups. `livenessFd` may still be pending then.
   */
  restore(options: RestoreOptions): Promise<number>;
  /**
   * Resolves with the version, such as `4.2`; undefined when the program reports none. Rejects as
   * `runCommand` does.
   */
  readVersion(): Promise<string | undefined>;
}

interface ImageOptions {
  imagesDir: string;
  /** Root inside, as seen from the host. */
  baseId: number;
  /** How the images name the liveness pipe, which is not in the sandbox's own mounts. */
  livenessPipeId: string;
  /** The most memory that may have to be written or read; the deadline follows from it. */
  memoryBytes: number;
}

export interface DumpOptions extends ImageOptions {
  pid: number;
  /** Whether a file is mounted over the kernel's boot id. */
  hasBootId: boolean;
  /**
   * Empty folders mounted over others. Dumped as external mounts: dumping each as a file system costs more than a
   * process.
   */
  maskedFolders: readonly string[];
  cgroup: Pick<Cgroup, 'freeze' | 'freezerPath'>;
  /** Inherited by the process that dumps: the pipe stays open as long as that lives. */
  lineFd: number;
  /**
   * Runs at the moment of the images, for processes that continue afterwards. Files without a name have one
   * during it. Without it the processes stay stopped, and such files keep their names.
   */
  whileHeld: (() => Promise<void>) | undefined;
}

export interface RestoreOptions extends ImageOptions {
  root: string;
  guestDir: string;
  agentDir: string;
  bootIdFile: string | undefined;
  /** The folder that is mounted over the masked ones. */
  emptyDir: string;
  pidFile: string;
  /** The `cgroup.procs` of every cgroup that the processes are to be in. */
  memberFiles: readonly string[];
  /**
   * Resolves with the liveness pipe's writing end, which stays open until the restore has ended, when everything else
   * is ready. Meanwhile the program enters the cgroups, and waits.
   */
  livenessFd: Promise<number>;
  /** Folders that it must see besides those of the images, in any place. */
  shown: readonly string[];
  /** Changes the mounts that only the program sees. */
  prepareMounts: () => void;
  /** Makes the network that sockets in the images need, for the first process. Without it connections are closed. */
  prepareNetwork: ((pid: number) => Promise<void>) | undefined;
  signal: AbortSignal;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** CRIU writes its messages into its log. */
const silent = ['ignore', 'ignore', 'ignore'] as const;

/** Undefined when the folder has none, or when it reports that it cannot work on this kernel. */
export const findCriu = (dir: string | undefined): Criu | undefined => {
  if (dir === undefined || !existsSync(`${dir}/criu`)) return undefined;
  const toCommand = (name: string): string[] => toCriuCommand(dir, name);
  const plain = toCommand(existsSync(`${dir}/criu-plain`) ? 'criu-plain' : 'criu');
  const coverHost = (shown: readonly string[] = []): void => {
    openClosedFolders(findClosedFolders([dir, ...shown], [scratchDir]));
    mount({ source: 'run', target: cacheDir, type: 'tmpfs', flags: 0, data: 'mode=755,size=1m' });
  };
  const findings = explore(plain, coverHost);
  if (findings === undefined) return undefined;
  // The owner of the sandbox's user namespace has all capabilities in it, whatever root has here, and the namespace of
  // a restore has the same owner. Without the one capability that not every root has: CRIU would use it on some hosts
  // only, as for the lower bound of a restored process's OOM score. Fewer do not do on every host: a restore sets the
  // login id where the kernel audits, and a dump traces processes that are not dumpable.
  const capabilities = '+all,-sys_resource';
  const isOwner = actsAsOwner(readFileSync(`${dir}/criu`));
  const asOwner = (baseId: number, command: readonly string[]): string[] => [
    ...(isOwner
      ? ['setpriv', '--reuid', String(baseId), '--inh-caps', capabilities, '--ambient-caps', capabilities]
      : []),
    ...command,
  ];
  const common = ({ imagesDir }: ImageOptions, log: string): string[] => [
    ...['--images-dir', imagesDir, '--log-file', log, '-v1'],
    ...[
      '--manage-cgroups=ignore',
      // The caller stops the packets, for longer and with fewer rules.
      ...['--network-lock', 'skip'],
      '--ext-unix-sk',
      '--file-locks',
      '--link-remap',
      '--shell-job',
    ],
    ...['--empty-ns', 'net', '--external', 'mnt[]:ms'],
  ];
  const prepare = (shown: readonly string[]): void => {
    coverHost(shown);
    writeFileSync(`${cacheDir}/${cacheName}`, findings, { mode: 0o600 });
  };
  return {
    readVersion: () => readCriuVersion(dir),
    dump: async (options) => {
      const { pid, imagesDir, baseId, livenessPipeId, cgroup, lineFd, whileHeld } = options;
      const hook =
        whileHeld &&
        (await createCriuHook({
          folder: imagesDir,
          step: 'post-dump',
          work: async () => {
            // CRIU only has to release them now, for which they need not run.
            await cgroup.freeze();
            await whileHeld();
          },
        }));
      const [file = '', ...args] = [
        ...asOwner(baseId, plain),
        ...['dump', '--tree', String(pid), '--ghost-limit', '1G'],
        // Connections that wait to be accepted are closed when CRIU looks for the other end.
        ...['--tcp-established', '--skip-in-flight'],
        ...(hook ? ['--leave-running', '--action-script', hook.script] : ['--leave-stopped']),
        ...['--freeze-cgroup', cgroup.freezerPath],
        ...common(options, 'dump.log'),
        ...['--external', 'mnt[/run/envd]:guest', '--external', 'mnt[/.envd]:agent'],
        ...['--external', livenessPipeId],
        ...options.maskedFolders.flatMap((path) => ['--external', `mnt[${path}]:mask`]),
        ...(options.hasBootId ? ['--external', `mnt[${BOOT_ID}]:boot-id`] : []),
      ];
      try {
        const deadlineMs = toMemoryDeadlineMs(options.memoryBytes) + (hook ? HOOK_DEADLINE_MS : 0);
        const wasShort = watchOomKills();
        const program = startProgram({
          file,
          args,
          stdio: [...silent, lineFd],
          prepareMounts: () => prepare([imagesDir]),
        });
        await finish(program, { log: `${imagesDir}/dump.log`, deadlineMs, wasShort });
      } catch (error) {
        // Freeze at once: processes that CRIU has released run, with connections that fail. `endRepair`
        // reports those that cannot be frozen.
        await cgroup.freeze().catch(() => undefined);
        throw hook?.failure ?? error;
      } finally {
        await hook?.close();
      }
    },
    restore: async (options) => {
      const {
        imagesDir,
        baseId,
        livenessPipeId,
        root,
        guestDir,
        agentDir,
        bootIdFile,
        pidFile,
        memberFiles,
      } = options;
      const { prepareNetwork: work } = options;
      const command = hasCompressed(imagesDir) ? toCommand('criu') : plain;
      const hook = work && (await createCriuHook({ folder: imagesDir, step: 'setup-namespaces', work }));
      const args = [
        ...asOwner(baseId, command),
        ...['restore', '--root', root, '--restore-detached', '--leave-stopped', '--pidfile', pidFile],
        ...(hook ? ['--tcp-established', '--action-script', hook.script] : ['--tcp-close']),
        ...common(options, 'restore.log'),
        ...['--external', `mnt[guest]:${guestDir}`, '--external', `mnt[agent]:${agentDir}`],
        ...(bootIdFile === undefined ? [] : ['--external', `mnt[boot-id]:${bootIdFile}`]),
        ...['--external', `mnt[mask]:${options.emptyDir}`],
        ...['--inherit-fd', `fd[3]:${livenessPipeId}`],
      ];
      const { shown, livenessFd, prepareMounts, signal } = options;
      const deadlineMs = toMemoryDeadlineMs(options.memoryBytes);
      const wasShort = watchOomKills();
      try {
        const member = joinCgroups({ memberFiles, command: args });
        const finished = finish(member, { log: `${imagesDir}/restore.log`, deadlineMs, signal, wasShort });
        // A rejection is handled below, where this is awaited again.
        finished.catch(() => undefined).finally(() => member.close());
        try {
          // An early end is noticed at once: preparing the pipe may take as long as copying a disk.
          const fd = await Promise.race([livenessFd, finished.then(() => livenessFd)]);
          member.become({
            fd,
            prepare: () => {
              prepareMounts();
              prepare(shown);
            },
          });
        } catch (error) {
          member.kill();
          // Ended by that kill, or with the failure that is thrown already.
          await finished.catch(() => undefined);
          throw error;
        }
        await finished;
      } catch (error) {
        throw hook?.failure ?? error;
      } finally {
        await hook?.close();
      }
      return Number(await readFile(pidFile, 'utf8'));
    },
  };
};

/** Whether files of a tmpfs are compressed in the images, as by programs without a `criu-plain`. */
const hasCompressed = (imagesDir: string): boolean =>
  readdirSync(imagesDir)
    .filter((name) => name.startsWith('tmpfs-'))
    .some((name) => gzipMagic.equals(readHead(`${imagesDir}/${name}`, gzipMagic.length)));

/** RFC 1952, 2.3.1 */
const gzipMagic = Buffer.from([0x1f, 0x8b]);

const readHead = (path: string, length: number): Buffer => {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(length);
    readSync(file, head);
    return head;
  } finally {
    closeSync(file);
  }
};

/**
 * Where CRIU makes mount points, regardless of its options, and leaves them when it is killed. It sees an empty folder
 * there.
 */
const scratchDir = '/tmp';

/** Where CRIU caches what it has found out about the kernel, unless that is on a disk. */
const cacheDir = '/run';
const cacheName = 'criu.kdat';

/**
 * Runs `criu check` once and as root, and returns the cache that it writes: root alone can find out some of it, and it
 * takes longer than a dump.
 */
const explore = (command: readonly string[], prepareMounts: () => void): Buffer | undefined => {
  const script = ['-c', '"$@" >&2 && exec cat "$0"', `${cacheDir}/${cacheName}`, ...command, 'check'];
  for (let tries = 1; ; tries++) {
    const findings = createMemoryFile('criu-findings');
    try {
      const { end, isLate } = runProgramSync({
        file: 'sh',
        args: script,
        stdio: ['ignore', findings, 'ignore'],
        prepareMounts,
        timeoutMs: EXPLORE_DEADLINE_MS,
      });
      if (end === 0) return readFileSync(`/proc/self/fd/${findings}`);
      // Another process ended it, which says nothing of the kernel. The result is kept for as long as this process
      // lives.
      const wasKilled = !isLate && (typeof end === 'string' || end > 128);
      if (!wasKilled || tries === EXPLORE_TRIES) return undefined;
    } finally {
      closeSync(findings);
    }
  }
};

const EXPLORE_DEADLINE_MS = 10_000;
const EXPLORE_TRIES = 3;

/** CRIU has ended by itself, and its log names something inside that it cannot keep. */
export class CriuRefusedError extends RuntimeError {
  constructor(message: string) {
    super('internal', message);
    this.name = 'CriuRefusedError';
  }
}

const finish = async (
  program: Program,
  options: { log: string; deadlineMs: number; signal?: AbortSignal; wasShort: () => boolean },
): Promise<void> => {
  const { log, deadlineMs, signal, wasShort } = options;
  const deadline = AbortSignal.timeout(deadlineMs);
  const kill = (): void => program.kill();
  for (const reason of [deadline, signal]) reason?.addEventListener('abort', kill, { once: true });
  const status = await program.ended.finally(() => {
    for (const reason of [deadline, signal]) reason?.removeEventListener('abort', kill);
  });
  if (status === 0) return;
  signal?.throwIfAborted();
  if (status === 'SIGKILL' && !deadline.aborted)
    throw new RuntimeError('exhausted', 'criu was killed, as on a host without free memory');
  // There is no log when the process ended before it became CRIU; the failure then says so.
  const written = await readFile(log, 'utf8').catch(() => undefined);
  const errors = written?.split('\n').filter((line) => line.includes('Error'));
  const end = deadline.aborted ? `was killed after ${deadlineMs} ms` : `ended with ${status}`;
  const message = `criu ${end}: ${errors?.slice(0, 4).join('; ') ?? 'there is no log'}`;
  if (wasShort() && !deadline.aborted) throw new RuntimeError('exhausted', message);
  throw typeof status === 'number' && errors?.some(isRefusal)
    ? new CriuRefusedError(message)
    : new RuntimeError('internal', message);
};
