import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';
import type { TreeProcess } from '../processes/process-tree.ts';

/**
 * Throws an `ObstacleError` when a process is in a session that cannot be restored: a process gets into a session by being
 * born to a member, and CRIU finds no member of that session above it (criu/pstree.c, prepare_pstree_ids). That is so
 * below a process that adopts orphans, see PR_SET_CHILD_SUBREAPER; orphans of the first process are no problem. `tree`
 * are the processes of a sandbox, the first one first.
 */
export const requireSessions = (tree: readonly TreeProcess[]): void => {
  const [first, ...others] = tree;
  const byPid = new Map(tree.map((process) => [process.pid, process]));
  const bornIn = new Map<number, number>();
  /**
   * The process from which CRIU forks it: for orphans of the first process the leader of its session, or one made for
   * that.
   */
  const toParent = ({ pid, parent, session }: TreeProcess): TreeProcess | undefined => {
    const isTakenIn = parent === first?.pid && session !== first.session && session !== pid;
    if (!isTakenIn) return byPid.get(parent);
    return byPid.get(session) ?? { pid: session, parent: first.pid, session, hasEnded: false };
  };
  for (const process of others) {
    const { pid, session } = process;
    const parent = toParent(process);
    if (session === pid || parent?.session === session) continue;
    let above = parent;
    for (; above !== undefined && above.pid !== session; above = toParent(above)) {
      if ((bornIn.get(above.pid) ?? session) !== session) throw notKept(pid);
      bornIn.set(above.pid, session);
    }
    if (above === undefined) throw notKept(pid);
  }
};

const notKept = (pid: number): ObstacleError =>
  new ObstacleError({ kind: 'session', process: observeProcess(pid) });
