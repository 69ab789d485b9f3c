import { RuntimeError } from '../../../../error.ts';
import type { TreeProcess } from './process-tree.ts';

/**
 * Throws `unavailable` when a process is in a session that cannot be made again: one gets into a session by being born to
 * whoever is in it, and CRIU finds nobody of that session above it (criu/pstree.c, prepare_pstree_ids). That is so below a
 * process that takes in the orphans of others, see PR_SET_CHILD_SUBREAPER; those that the first process takes in are no
 * matter. `tree` are the processes of a sandbox, the first one first.
 */
export const requireSessions = (tree: readonly TreeProcess[]): void => {
  const [first, ...others] = tree;
  const byPid = new Map(tree.map((process) => [process.pid, process]));
  const bornIn = new Map<number, number>();
  /** Who is to give birth to it: for what the first process has taken in, whoever leads its session, or is made for that. */
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
      if ((bornIn.get(above.pid) ?? session) !== session) throw notKept();
      bornIn.set(above.pid, session);
    }
    if (above === undefined) throw notKept();
  }
};

const notKept = (): RuntimeError =>
  new RuntimeError('unavailable', 'a process is in a session of which nobody above it is');
