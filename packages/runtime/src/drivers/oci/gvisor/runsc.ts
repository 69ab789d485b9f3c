import { closeSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { attachTree, cloneTree, mount } from '../../../kernel/syscalls.ts';
import type { OciRuntime } from '../container/oci-runtime.ts';
import { readPid } from '../container/read-pid.ts';
import { runOciProgram } from '../container/run-oci-program.ts';
import { sentryProfile } from '../container/seccomp-rules.ts';
import { readRunscVersion } from './prepare-runsc.ts';
import { createSentry, type RunscCommand } from './sentry.ts';

const options = [
  // A network stack of its own over the interfaces it finds when it starts.
  '--network=sandbox',
  // Connections to the outside end with a checkpoint; otherwise they would prevent it.
  '--net-disconnect-ok',
  // Only the sentry makes the agent's sockets in a folder of the host.
  '--host-uds=create',
  // Writes go to the sandbox's own disk at once: the kill of a sentry then loses nothing.
  '--overlay2=none',
  '--file-access=shared',
  '--oci-seccomp',
];

/**
 * The sentry's own threads, some tens. The host counts them, and one or two more for each thread inside, instead of
 * what the sandbox sees. The limit leaves room for all that may be inside; a sandbox that exceeds it ends.
 */
const OWN_PROCESSES = 128;

/** gVisor: a kernel in user space, on the same bundle. Programs inside never call the host's kernel. */
export const createRunsc = (program: string): OciRuntime => {
  const run: RunscCommand = ({ folder, signal, lineFd }, words, { stdin, passes = [], cover } = {}) =>
    runOciProgram({
      program,
      args: [...options, '--root', folder.ociState, '--log', folder.ociLog, ...words],
      // runsc passes only the first three descriptors into the sandbox, so `lineFd` stays outside. The agent
      // never reads its standard input.
      stdio: [stdin ?? 'ignore', 'ignore', 'ignore', ...(lineFd === undefined ? [] : [lineFd])],
      // The program may be below the same closed folder as its data.
      passes: passes.length === 0 ? [] : [...passes, dirname(program)],
      cover,
      log: folder.ociLog,
      signal,
    });
  return {
    name: 'runsc',
    level: 'gvisor',
    takesSeccompProgram: false,
    mountsBelowProc: false,
    joinsUserNamespace: false,
    seccompProfile: sentryProfile,
    toProcessLimit: (processCount) => 2 * processCount + OWN_PROCESSES,
    takesTmp: true,
    sentry: createSentry(run, () => readRunscVersion(program)),
    start: async ({ id, folder, agentDir, livenessFd, attach, imagesDir, signal }) => {
      const container = { id, folder, signal };
      const passes = [folder.path, agentDir];
      const create = ['create', '--bundle', folder.path, '--pid-file', folder.pidFile, id];
      await run(container, create, { stdin: livenessFd, passes });
      await attach(readPid(folder));
      const begin =
        imagesDir === undefined ? ['start', id] : ['restore', '--detach', '--image-path', imagesDir, id];
      await run(container, begin, { passes, cover: coverNetworkSettings });
    },
  };
};

/**
 * runsc takes a network namespace that shows `net.core.rmem_default` for the host's own and refuses to start; since
 * Linux 6.9 every namespace shows it. All of /proc/sys is hidden, since the files below `net` differ from namespace to
 * namespace; runsc needs `vm.mmap_min_addr`.
 */
const coverNetworkSettings = (): void => {
  const memory = cloneTree('/proc/sys/vm');
  try {
    mount({ source: 'none', target: '/proc/sys', type: 'tmpfs', flags: 0, data: 'mode=711,size=64k' });
    mkdirSync('/proc/sys/vm');
    attachTree(memory, '/proc/sys/vm');
  } finally {
    closeSync(memory);
  }
};
