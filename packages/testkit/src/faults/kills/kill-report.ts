export interface KillReport {
  /** How many moments of each operation show from outside, at which a process can be killed. */
  moments: Record<string, number>;
  /** How many kills there are to do: of server and helper at each moment, of each program several. */
  planned: number;
  kills: number;
  /** Those whose moment did not show again, which may well be so of what others do meanwhile. */
  missed: string[];
  killed: Record<string, number>;
  /** How the operations ended whose server, helper or program was killed. */
  outcomes: Record<string, number>;
  /** Sandboxes, or processes of theirs, that ended with a program that worked inside of them. */
  ended: number;
  failures: string[];
  losses: string[];
  orphans: string[];
}

export const createKillReport = (): KillReport => ({
  moments: {},
  planned: 0,
  kills: 0,
  missed: [],
  killed: {},
  outcomes: {},
  ended: 0,
  failures: [],
  losses: [],
  orphans: [],
});
