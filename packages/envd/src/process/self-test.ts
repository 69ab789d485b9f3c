import { ApiError } from '@skerry/contract/error';
import type { User } from '../system/users.ts';
import type { ExitStatus } from './exit-status.ts';
import { createOutputBudget } from './output/output-budget.ts';
import { createRunningProcess } from './running-process.ts';
import { type Spawned, spawnProcess } from './spawn-process.ts';

/** Linked statically, and in every sandbox: it needs nothing of the root file system. */
const PROGRAM = '/.envd/tini';
const DEADLINE_MS = 20_000;

const root: User = { name: 'root', uid: 0, gid: 0, home: '/', groups: [] };
/** A user with a supplementary group, as groups take a path of their own; numbers need no account file. */
const other: User = { name: 'nobody', uid: 65_534, gid: 65_534, home: '/', groups: [65_533] };
const size = { cols: 80, rows: 24 };

/**
 * Starts a harmless program the ways that commands are started: as root, as another user with a supplementary group, and on a
 * terminal. Resolves when all have exited with 0. Rejects with `internal` and what did not start, or how it ended, at the first that
 * fails. Writes nothing to the log of the sandbox and enters nothing in its table of processes.
 */
export const runSelfTest = async ({ cmd = PROGRAM, args = ['--version'] } = {}): Promise<void> => {
  const program = { cmd, args, env: {}, cwd: '/' };
  const ways: [string, () => Promise<Spawned>][] = [
    ['as root', () => spawnProcess({ ...program, user: root, stdin: false })],
    ['as another user', () => spawnProcess({ ...program, user: other, stdin: true })],
    [
      'on a terminal',
      async () => (await import('./spawn-terminal.ts')).spawnTerminal({ ...program, user: root }, size),
    ],
  ];
  for (const [name, spawn] of ways) {
    try {
      const { error } = await waitForEnd(await spawn());
      if (error !== undefined) throw new Error(error);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ApiError('internal', `a program started ${name} failed: ${cmd}: ${reason}`, { cause: error });
    }
  }
};

const waitForEnd = (spawned: Spawned): Promise<ExitStatus> =>
  new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      running.kill('SIGKILL');
      reject(new Error(`it did not end within ${DEADLINE_MS} ms`));
    }, DEADLINE_MS);
    const running = createRunningProcess(spawned, {
      budget: createOutputBudget(),
      onEnd: (status) => {
        clearTimeout(deadline);
        resolve(status);
      },
    });
    running.closeStdin();
  });
