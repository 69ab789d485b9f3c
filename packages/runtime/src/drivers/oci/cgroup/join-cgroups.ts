import { closeSync, openSync, writeSync } from 'node:fs';
import { inPrivateMounts } from '../../../kernel/private-mounts.ts';
import { systemPath } from '../../../kernel/run-command.ts';
import { type Program, startProgram } from '../../../kernel/start-program.ts';
import { createPipe } from '../../../kernel/syscalls.ts';

/** A process on its way into cgroups, where it waits to become a program. It ends when this process does. */
export interface CgroupMember extends Program {
  /**
   * Lets it become the program as soon as it is in all of them, among a copy of the host's mounts that `prepare` changes
   * before and nobody else sees. Its descriptor 3 writes to the same as `fd`, which stays open until it has ended. Throws what
   * `prepare` throws; does nothing about one that has ended, or was closed.
   */
  become(options: { fd: number; prepare: () => void }): void;
  /** Lets go of what this process holds for it, to be called when it has ended. */
  close(): void;
}

// The number of a shell is that of the program which it becomes.
const script = `
while [ "$1" != -- ]; do echo $$ > "$1" || exit; shift; done
shift
read -r mounts fd <&3 && exec nsenter --mount="$mounts" "$@" 3> "$fd"
`;

/**
 * Starts a process that enters the cgroups of these `cgroup.procs` and is to become `command`.
 * Entering the first of them takes longer than a start of a program: the kernel waits until every processor has taken notice.
 * @throws SyscallError when it cannot be started
 */
export const joinCgroups = (options: {
  memberFiles: readonly string[];
  command: readonly string[];
}): CgroupMember => {
  const { memberFiles, command } = options;
  const held: number[] = [];
  const close = (): void => {
    for (const one of held.splice(0)) closeSync(one);
  };
  const { readFd, writeFd } = createPipe();
  held.push(writeFd);
  try {
    const own = `/proc/${process.pid}/fd`;
    const program = startProgram({
      file: 'sh',
      args: ['-c', script, 'sh', ...memberFiles, '--', ...command],
      env: { PATH: systemPath },
      stdio: ['ignore', 'ignore', 'ignore', readFd],
    });
    return {
      ...program,
      become: ({ fd, prepare }) => {
        // Closed: the numbers may be those of other files by now.
        if (held.length === 0) return;
        const mounts = inPrivateMounts(prepare, () => openSync('/proc/thread-self/ns/mnt', 'r'));
        held.push(mounts);
        try {
          writeSync(writeFd, `${own}/${mounts} ${own}/${fd}\n`);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
        }
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  } finally {
    closeSync(readFd);
  }
};
