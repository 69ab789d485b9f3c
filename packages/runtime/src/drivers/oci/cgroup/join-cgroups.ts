import { closeSync, openSync, writeSync } from 'node:fs';
import { inPrivateMounts } from '../../../kernel/private-mounts.ts';
import { type Program, startProgram } from '../../../kernel/start-program.ts';
import { createPipe } from '../../../kernel/syscalls.ts';

/** A process that enters cgroups and then waits to become a program. It ends when this process does. */
export interface CgroupMember extends Program {
  /**
   * Makes it the program as soon as it is in all cgroups, in a private copy of the host's mounts that `prepare` changes
   * before. Its descriptor 3 is a duplicate of `fd`, which must stay open until it has ended. Throws what `prepare`
   * throws; does nothing when it has ended or was closed.
   */
  become(options: { fd: number; prepare: () => void }): void;
  /** Closes what this process holds open for it; call it when it has ended. */
  close(): void;
}

// A shell that becomes the program keeps its pid. In a namespace of their own its cgroups are shown as roots.
const script = `
while [ "$1" != -- ]; do echo $$ > "$1" || exit; shift; done
shift
read -r mounts fd <&3 && exec nsenter --mount="$mounts" unshare --cgroup "$@" 3> "$fd"
`;

/**
 * Starts a process that enters the cgroups of these `cgroup.procs` files and is to become `command`. Entering the first
 * takes longer than a start of a program: the kernel waits for every processor.
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
      stdio: ['ignore', 'ignore', 'ignore', readFd],
    });
    return {
      ...program,
      become: ({ fd, prepare }) => {
        // After `close` the numbers may be those of other files.
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
