import { readdir } from 'node:fs/promises';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { RuntimeError } from '../../../error.ts';
import { findProgram } from '../../../kernel/find-program.ts';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { SandboxFolder } from '../folder.ts';
import type { HostBackend } from '../host-backend.ts';
import { startInForm } from './namespace-form.ts';
import { readPid } from './read-pid.ts';
import { runOciProgram } from './run-oci-program.ts';
import { type SeccompProfile, seccompProfile } from './seccomp-rules.ts';

/** A program that starts a container from a bundle. It does not stay: nothing of it is left once the container runs. */
export interface OciRuntime {
  readonly name: 'crun' | 'runc' | 'runsc';
  readonly level: IsolationLevel;
  /** Whether it takes a seccomp filter that is compiled already. */
  readonly takesSeccompProgram: boolean;
  /** Whether it mounts files over those of /proc. */
  readonly mountsBelowProc: boolean;
  /** Whether it puts a container into a user namespace that is there; otherwise it makes one. */
  readonly joinsUserNamespace: boolean;
  /** Which calls it lets through. */
  readonly seccompProfile: SeccompProfile;
  /** How many processes the host may count where `processCount` are allowed inside. */
  toProcessLimit(processCount: number): number;
  /** Whether it puts a file system of its own on an empty `/tmp`, unless told of another. */
  readonly takesTmp: boolean;
  /** Undefined where the host's serves the calls inside. */
  readonly sentry: Sentry | undefined;
  /**
   * Starts the container of the folder's bundle; its processes hold `livenessFd` from then on. Rejects with `internal` when the
   * runtime refuses, and with what `attach` rejects with; some of the container may exist then.
   */
  start(options: {
    id: string;
    folder: SandboxFolder;
    agentDir: string;
    livenessFd: number;
    /** The files that take the members of a cgroup which is there; none where the runtime makes it. */
    memberFiles: readonly string[];
    /** Called with the pid of a process in the container's network, at the latest while its agent starts. */
    attach: (pid: number) => Promise<void>;
    /** What `Sentry.write` has written, to go on with instead: as it was then, held until `release`. */
    imagesDir?: string | undefined;
    signal: AbortSignal;
  }): Promise<void>;
}

/** What a kernel that is a process can do, and the host's cannot: write down all that is inside, and go on with it. */
export interface Sentry {
  /**
   * Lets the agent close its sockets, whose other ends are the host's and cannot be written down, and stops everything inside.
   * Rejects with `unavailable` when the agent does not; some of it may stand still then.
   */
  hold(container: Container): Promise<void>;
  /** Writes what is held to the folder, as files ending in `.img`; it stays held. Rejects with `internal`. */
  write(container: Container & { imagesDir: string }): Promise<void>;
  /** Lets everything inside go on, however much of it stands still; the agent opens its sockets again soon. */
  release(container: Container): Promise<void>;
  /** Gives the machine another name, while everything inside is held. Rejects with `internal`. */
  rename(container: Container & { hostname: string }): Promise<void>;
  /** Resolves when the agent has opened its sockets, and is not about to close them, whatever it was told before. */
  reopen(container: Container): Promise<void>;
}

export interface Container {
  id: string;
  folder: SandboxFolder;
  signal: AbortSignal;
  /** Held by the programs that act on it, so that it shows as long as one of them lives. */
  lineFd?: number;
}

/** Those that run a container on the host's kernel. */
export type OciRuntimeName = 'crun' | 'runc';

/**
 * The first of `names` that is installed. crun starts a container in a third of runc's time.
 * @throws RuntimeError `unsupported` when none is
 */
export const findOciRuntime = (
  { cgroups, makesCgroups }: Pick<HostBackend, 'cgroups' | 'makesCgroups'>,
  names: readonly OciRuntimeName[] = ['crun', 'runc'],
): OciRuntime => {
  for (const name of names) {
    const program = findProgram(name);
    if (program === undefined) continue;
    const isCrun = name === 'crun';
    return toRuntime(name, {
      program,
      options: isCrun ? [`--cgroup-manager=${makesCgroups ? 'cgroupfs' : 'disabled'}`] : [],
      hidesUnified: isCrun && cgroups.hybrid,
    });
  }
  throw new RuntimeError('unsupported', `no OCI runtime is installed: ${names.join(' or ')}`);
};

interface Invocation {
  program: string;
  options: string[];
  /** crun refuses to start beside a version 2 tree that owns controllers: it is not shown that tree. */
  hidesUnified: boolean;
}

const toRuntime = (name: OciRuntimeName, invocation: Invocation): OciRuntime => ({
  name,
  level: 'container',
  takesSeccompProgram: name === 'crun',
  mountsBelowProc: name === 'crun',
  joinsUserNamespace: true,
  seccompProfile,
  toProcessLimit: (processCount) => processCount,
  takesTmp: false,
  sentry: undefined,
  start: async ({ id, folder, agentDir, livenessFd, memberFiles, attach, signal }) => {
    const { program, options, hidesUnified } = invocation;
    const args = [
      ...options,
      ...['--root', folder.ociState, '--log', folder.ociLog],
      ...['run', '--detach', '--preserve-fds', '1'],
      ...['--bundle', folder.path, '--pid-file', folder.pidFile, id],
    ];
    const run = (): Promise<void> =>
      runOciProgram({
        program,
        args,
        memberFiles,
        // The container keeps the first three descriptors: a pipe or a file of the host must not be among them.
        stdio: ['ignore', 'ignore', 'ignore', livenessFd],
        passes: [folder.path, agentDir],
        cover: hidesUnified ? coverUnifiedTree : undefined,
        // A variable of its own, for where it makes a file for a moment.
        env: { _LIBCONTAINER_STATEDIR: folder.ociState },
        log: folder.ociLog,
        signal,
      });
    // crun takes both forms.
    if (name === 'crun') await run();
    else await startInForm({ program, configPath: folder.config, signal, start: run });
    await attach(await readPid(folder));
  },
});

/**
 * Takes away what crun mounts over a file in its state for a moment, and leaves there when it is killed in that moment, so that
 * the state can be removed.
 */
export const releaseOciState = async ({ ociState }: SandboxFolder): Promise<void> => {
  const names = await readdir(ociState).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  for (const name of names) unmountEvery(`${ociState}/${name}`);
};

/**
 * Something that is no cgroup tree, and goes away with the private mounts: crun would write into what lies below the
 * tree if that were only unmounted, where nobody ever sees it again.
 */
const coverUnifiedTree = (): void => {
  mount({
    source: 'none',
    target: '/sys/fs/cgroup/unified',
    type: 'tmpfs',
    flags: 0,
    data: 'mode=700,size=64k',
  });
};
