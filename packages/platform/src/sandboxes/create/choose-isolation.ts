import { invalid } from '@skerry/contract/error';
import { type IsolationLevel, isolationLevels, strongestOf } from '@skerry/contract/isolation';
import type { Features } from '@skerry/runtime';
import type { SnapshotRow } from '../../store/rows.ts';

/**
 * Chooses the level of a new sandbox: the one that was asked for, else that of its snapshot or the default of the server, and never
 * one below its snapshot or the minimum of the server. Throws `invalid_argument` for a level that no host has or that is below the
 * minimum, and for another one than that of the processes in a snapshot.
 */
export const chooseIsolation = (
  asked: IsolationLevel | null,
  {
    features: { level, minimumLevel, levels },
    snapshot,
  }: {
    features: Pick<Features, 'level' | 'minimumLevel' | 'levels'>;
    snapshot: Pick<SnapshotRow, 'isolation' | 'kind'> | null;
  },
): IsolationLevel => {
  if (asked !== null && strongestOf([asked, minimumLevel]) !== asked)
    throw invalid(`body.isolation: "${asked}" is below "${minimumLevel}", the minimum of this server`);
  if (asked !== null && levels[asked] === undefined)
    throw invalid(
      `body.isolation: this server has no level "${asked}", only ${isolationLevels.filter((one) => one in levels).join(', ')}`,
    );
  if (snapshot === null) return asked ?? level;
  const kept = strongestOf([snapshot.isolation, minimumLevel]);
  if (asked === null) return kept;
  if (snapshot.kind === 'memory' && asked !== snapshot.isolation)
    throw invalid(
      `body.isolation: the processes of the snapshot continue at its level alone, "${snapshot.isolation}", not "${asked}"`,
    );
  return strongestOf([asked, kept]);
};
