import { readdir } from 'node:fs/promises';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { findProgram } from '../../../kernel/find-program.ts';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import type { SandboxFolder } from '../folder.ts';
import type { HostBackend } from '../host-backend.ts';
import { startInForm } from './namespace-form.ts';
import { readPid } from './read-pid.ts';
import { protectNullDevice, restrictSource } from './restrict-sources.ts';
import { runOciProgram } from './run-oci-program.ts';
import { type SeccompProfile, seccompProfile } from './seccomp-rules.ts';

/** A program that starts a container from a bundle. It ends once the container runs. */
export interface OciRuntime {
  readonly name: 'crun' | 'runc' | 'runsc';
  readonly level: IsolationLevel;
  /** Whether it accepts a seccomp filter that is compiled already. */
  readonly takesSeccompProgram: boolean;
  /** Whether it mounts files over those of /proc. */
  readonly mountsBelowProc: boolean;
  /** Whether it puts a container into an existing user namespace; otherwise it makes one. */
  readonly joinsUserNamespace: boolean;
  /** The allowed system calls. */
  readonly seccompProfile: SeccompProfile;
  /** The host's limit of processes where `processCount` are allowed inside. */
  toProcessLimit(processCount: number): number;
  /** Whether it mounts a file system of its own on an empty `/tmp`, unless the bundle names one. */
  readonly takesTmp: boolean;
  /** Undefined where the host's kernel serves the system calls. */
  readonly sentry: Sentry | undefined;
  /**
   * Starts the container of the folder's bundle; its processes hold `livenessFd` from then on. Rejects with `internal`
   * when the runtime fails, and as `attach`; parts of the container may exist then.
   */
  start(options: {
    id: string;
    folder: SandboxFolder;
    agentDir: string;
    livenessFd: number;
    /** The `cgroup.procs` files of an existing cgroup; none where the runtime makes it. */
    memberFiles: readonly string[];
    /** Called with the pid of a process in the container's network, at the latest while its agent starts. */
    attach: (pid: number) => Promise<void>;
    /** The images of `Sentry.write` to restore instead: everything inside is stopped until `release`. */
    imagesDir?: string | undefined;
    signal: AbortSignal;
  }): Promise<void>;
}

/** gVisor's kernel in user space, which can checkpoint and restore everything inside. */
export interface Sentry {
  /**
   * Asks the agent to close its sockets, whose other ends belong to the host and cannot be checkpointed, and stops
   * everything inside. Rejects with `unavailable` when the agent does not respond; parts may be stopped then.
   */
  hold(container: Container): Promise<void>;
  /**
   * Writes the stopped processes to the folder, as files ending in `.img`; they stay stopped. Rejects with an
   * `ObstacleError` where one of them holds what cannot be written, and otherwise as `runOciProgram`.
   */
  write(container: Container & { imagesDir: string }): Promise<void>;
  /** Continues everything inside, whatever is stopped; the agent opens its sockets again soon. */
  release(container: Container): Promise<void>;
  /** Changes the host name, while everything inside is stopped. Rejects with `internal`. */
  rename(container: Container & { hostname: string }): Promise<void>;
  /**
   * Resolves with the version that the program reports; undefined when it reports none. Rejects as
   * `runCommand` does.
   */
  readVersion(): Promise<string | undefined>;
  /** Resolves when the agent has opened its sockets and is not about to close them, after any earlier request. */
  reopen(container: Container): Promise<void>;
}

export interface Container {
  id: string;
  folder: SandboxFolder;
  signal: AbortSignal;
  /** Inherited by the programs that act on the container: it stays open as long as one of them lives. */
  lineFd?: number;
}

/** The programs for level `container`, in order of preference: crun starts a container in a third of runc's time. */
export const ociRuntimeNames = ['crun', 'runc'] as const;

export type OciRuntimeName = (typeof ociRuntimeNames)[number];

/** The first of `names` that is installed; undefined when none is. */
export const findOciRuntime = (
  { cgroups, makesCgroups }: Pick<HostBackend, 'cgroups' | 'makesCgroups'>,
  names: readonly OciRuntimeName[],
): OciRuntime | undefined => {
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
  return undefined;
};

interface Invocation {
  program: string;
  options: string[];
  /** crun refuses to start beside a version 2 tree that owns controllers: that tree is hidden from it. */
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
        cover: () => {
          protectNullDevice();
          if (hidesUnified) coverUnifiedTree();
          restrictSource(folder.guest, { readOnly: false });
          if (name === 'crun') restrictSource(folder.bootId, { readOnly: true });
        },
        // The folder in which runc makes a temporary file.
        env: { _LIBCONTAINER_STATEDIR: folder.ociState },
        log: folder.ociLog,
        signal,
      });
    // crun accepts both forms.
    if (name === 'crun') await run();
    else await startInForm({ program, configPath: folder.config, signal, start: run });
    await attach(readPid(folder));
  },
});

/**
 * Unmounts what crun mounts over a file in its state for a moment, and leaves there when it is killed in that moment:
 * otherwise the state cannot be removed.
 */
export const releaseOciState = async ({ ociState }: SandboxFolder): Promise<void> => {
  const names = await readdir(ociState).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  for (const name of names) unmountEvery(`${ociState}/${name}`);
};

/**
 * Mounts a file system that is not a cgroup tree, in private mounts: if the tree were only unmounted, crun would write
 * into the folder below it.
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
