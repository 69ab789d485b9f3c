import { createRequire } from 'node:module';

/**
 * The native part of node-pty. Its JavaScript is left out: it sets TERM and PWD by itself, cuts the output off 200 ms after the
 * exit, and writes in a way that can stop the whole program.
 */
interface PtyAddon {
  /**
   * forkpty(3), then chdir, setgid and setuid (not for -1), and execvp(3) in the child. Supplementary groups stay. The
   * descriptor does not block; it is not closed on exec.
   */
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    isUtf8: boolean,
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string };
  resize(fd: number, cols: number, rows: number): void;
}

// The binaries are packages of their own, which only the main package depends on.
const main = createRequire(import.meta.url).resolve('@lydell/node-pty/package.json');

/** Version 1.1.0 of the package; the signatures are its own matter and may change with the next one. */
export const { fork, resize }: PtyAddon = createRequire(main)(
  `@lydell/node-pty-linux-${process.arch}/pty.node`,
);
