import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { RuntimeError } from '../../../error.ts';
import { findClosedWays, openWays } from '../../../kernel/open-way.ts';
import { inPrivateMounts } from '../../../kernel/private-mounts.ts';
import { systemPath } from '../../../kernel/run-command.ts';
import { type Program, startProgram } from '../../../kernel/start-program.ts';
import { mount } from '../../../kernel/syscalls.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { joinCgroups } from '../cgroup/join-cgroups.ts';
import { watchOomKills } from '../cgroup/watch-oom-kills.ts';
import { createCriuHook, HOOK_DEADLINE_MS } from './criu-hook.ts';
import { toMemoryDeadlineMs } from './memory-deadline.ts';
import { toCriuCommand } from './prepare-criu.ts';
import { actsAsOwner } from './workarounds/act-as-owner.ts';

/** The program that writes processes to files and makes them again, unpacked by `prepareCriu`. */
export interface Criu {
  /**
   * Writes the processes of the tree under `pid` to `imagesDir`. They stay frozen when their cgroup was; without
   * `whileHeld`, what they have of TCP stays as `endRepair` finds it. Rejects with
   * `internal`, `exhausted` where there was no memory, or what `whileHeld` rejected with: they run on then, once they are
   * thawed and continued. When CRIU is killed, by its deadline or by another process, the process that it was working on may
   * end. Connections that it was reading then fail until the processes are frozen again; a kill after `whileHeld` has begun does
   * not have that effect, since the processes are frozen then.
   */
  dump(options: DumpOptions): Promise<void>;
  /**
   * Makes the processes again, stopped, and resolves with the pid of the first. What was made is still there when it
   * rejects; all of it, the program too, is a member of the cgroups. `livenessFd` may be pending still then.
   */
  restore(options: RestoreOptions): Promise<number>;
}

interface ImageOptions {
  imagesDir: string;
  /** Root inside, as seen from the host. */
  baseId: number;
  /** How the images name the liveness pipe, a file that is not of the sandbox's own mounts. */
  livenessPipeId: string;
  /** The most that there may be to write or read; the deadline follows from it. */
  memoryBytes: number;
}

export interface DumpOptions extends ImageOptions {
  pid: number;
  /** Whether a file stands for the kernel's boot id. */
  hasBootId: boolean;
  /** Empty folders that hide what is behind them. Kept as such: writing each down as a file system costs more than a process. */
  maskedFolders: readonly string[];
  cgroup: Pick<Cgroup, 'freeze' | 'freezerPath'>;
  /** Inherited by the process that dumps, so that it shows as long as that lives. */
  lineFd: number;
  /**
   * For processes that run on: what is to be of the same moment as their images. Files to which no name leads any more have
   * one as long as it works. Without it the processes stay stopped, and such files keep their names.
   */
  whileHeld: (() => Promise<void>) | undefined;
}

export interface RestoreOptions extends ImageOptions {
  root: string;
  guestDir: string;
  agentDir: string;
  bootIdFile: string | undefined;
  /** What hides the masked folders. */
  emptyDir: string;
  pidFile: string;
  /** The `cgroup.procs` of every cgroup that the processes are to be in. */
  memberFiles: readonly string[];
  /**
   * Resolves with the liveness pipe's writing end, which stays open until the end, when everything else is there. Meanwhile the
   * program enters the cgroups, and waits.
   */
  livenessFd: Promise<number>;
  /** Folders that it is to see, besides those of the images, wherever they lie. */
  shown: readonly string[];
  /** Changes the mounts that the program sees and nobody else. */
  prepareMounts: () => void;
  /** Makes the network that sockets in the images need, for the first process. Without it connections are closed. */
  prepareNetwork: ((pid: number) => Promise<void>) | undefined;
  signal: AbortSignal;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** What it has to say is in its log. */
const silent = ['ignore', 'ignore', 'ignore'] as const;

/** Undefined when there is none in the folder, or when it says that it cannot work on this kernel. */
export const findCriu = (dir: string | undefined): Criu | undefined => {
  if (dir === undefined || !existsSync(`${dir}/criu`)) return undefined;
  const toCommand = (name: string): string[] => toCriuCommand(dir, name);
  const plain = toCommand(existsSync(`${dir}/criu-plain`) ? 'criu-plain' : 'criu');
  const coverHost = (shown: readonly string[] = []): void => {
    openWays(findClosedWays([dir, ...shown], [scratchDir]));
    mount({ source: 'run', target: cacheDir, type: 'tmpfs', flags: 0, data: 'mode=755,size=1m' });
  };
  const findings = explore(plain, coverHost);
  if (findings === undefined) return undefined;
  // The owner of the sandbox's user namespace may do anything in it, whatever root may here, and the namespace that a
  // restore makes has the same owner.
  // Without a right that not every root has: what CRIU does with it would be something else on those hosts. The lower bound of
  // a restored process's OOM score is one such thing.
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
      // The packets are stopped by whoever calls, for longer and with less.
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
    dump: async (options) => {
      const { pid, imagesDir, baseId, livenessPipeId, cgroup, lineFd, whileHeld } = options;
      const hook =
        whileHeld &&
        (await createCriuHook({
          folder: imagesDir,
          step: 'post-dump',
          work: async () => {
            // All it has still to do to them is to let them go, for which they need not run.
            await cgroup.freeze();
            await whileHeld();
          },
        }));
      const [file = '', ...args] = [
        ...asOwner(baseId, plain),
        ...['dump', '--tree', String(pid), '--ghost-limit', '1G'],
        // Whoever waits to be accepted is sent away when the other end of his connection is looked for.
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
        const program = inPrivateMounts(
          () => prepare([imagesDir]),
          () => startProgram({ file, args, env: { PATH: systemPath }, stdio: [...silent, lineFd] }),
        );
        await finish(program, { log: `${imagesDir}/dump.log`, deadlineMs, wasShort });
      } catch (error) {
        // At once: processes that CRIU let go run, with connections that fail. `endRepair` reports those that cannot be frozen.
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
        // Awaited below, where a rejection is handled.
        finished.catch(() => undefined).finally(() => member.close());
        try {
          // That it has ended is told at once: what makes the line may take as long as copying a disk.
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
          // By that kill, or by what is told already.
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

/** Whether files of a tmpfs are compressed in the images, as programs without a `criu-plain` write them. */
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

/** Where it makes mount points, whatever it is told, and leaves them when it is killed. It is given an empty one. */
const scratchDir = '/tmp';

/** Where it looks for what it found out about the kernel before, if that is no real disk. */
const cacheDir = '/run';
const cacheName = 'criu.kdat';

/**
 * Lets it find out what the kernel can do, once and as root, and returns that as it writes it down: some of it only root
 * can find out, and it takes longer than a dump.
 */
const explore = (command: readonly string[], prepareMounts: () => void): Buffer | undefined => {
  const script = ['-c', '"$@" >&2 && exec cat "$0"', `${cacheDir}/${cacheName}`, ...command, 'check'];
  for (let tries = 1; ; tries++) {
    const { status, error, stdout } = inPrivateMounts(prepareMounts, () =>
      spawnSync('sh', script, { env: { PATH: systemPath }, timeout: EXPLORE_DEADLINE_MS, cwd: '/' }),
    );
    if (status === 0) return stdout;
    // Somebody else ended it: that says nothing of the kernel, and what this returns holds for as long as this process lives.
    const wasKilled = error === undefined && (status === null || status > 128);
    if (!wasKilled || tries === EXPLORE_TRIES) return undefined;
  }
};

const EXPLORE_DEADLINE_MS = 10_000;
const EXPLORE_TRIES = 3;

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
    throw new RuntimeError('exhausted', 'criu was killed, as on a host that has no memory left');
  // There is none where it ended before it was the program.
  const written = await readFile(log, 'utf8').catch(() => undefined);
  const errors = written?.split('\n').filter((line) => line.includes('Error'));
  const end = deadline.aborted ? `was killed after ${deadlineMs} ms` : `ended with ${status}`;
  const code = wasShort() && !deadline.aborted ? 'exhausted' : 'internal';
  throw new RuntimeError(code, `criu ${end}: ${errors?.slice(0, 4).join('; ') ?? 'there is no log'}`);
};
