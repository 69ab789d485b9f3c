import { invalid, unimplemented } from '@skerry/contract/error';
import { type IsolationLevel, isolationLevels, strongestOf } from '@skerry/contract/isolation';
import type { Features } from '@skerry/runtime';
import type { BuildRow } from '../../store/build-rows.ts';
import type { SnapshotRow } from '../../store/rows.ts';

/** Throws `invalid_argument` for a level that no host has. */
export const requireLevel = (field: string, level: IsolationLevel, levels: Features['levels']): void => {
  if (levels[level] === undefined)
    throw invalid(
      `${field}: this server has no level "${level}", only ${isolationLevels.filter((one) => one in levels).join(', ')}`,
    );
};

/**
 * Chooses the level of a new sandbox: the one that was asked for, else that of its snapshot or the default of the server, and never
 * one below its snapshot, its template or the minimum of the server. Throws `invalid_argument` for a level that no host has, that is below
 * the template or the minimum, and for another one than that of the processes in a snapshot; `unimplemented` when no host has the
 * level of the template.
 */
export const chooseIsolation = (
  asked: IsolationLevel | null,
  {
    features: { level, minimumLevel, levels },
    snapshot,
    build,
  }: {
    features: Pick<Features, 'level' | 'minimumLevel' | 'levels'>;
    snapshot: Pick<SnapshotRow, 'isolation' | 'kind'> | null;
    build: Pick<BuildRow, 'isolation'> | null;
  },
): IsolationLevel => {
  if (asked !== null && strongestOf([asked, minimumLevel]) !== asked)
    throw invalid(`body.isolation: "${asked}" is below "${minimumLevel}", the minimum of this server`);
  if (asked !== null) requireLevel('body.isolation', asked, levels);
  const demanded = build?.isolation ?? minimumLevel;
  if (asked !== null && strongestOf([asked, demanded]) !== asked)
    throw invalid(`body.isolation: "${asked}" is below "${demanded}", which the template demands`);
  if (snapshot === null) {
    const chosen = asked ?? strongestOf([level, demanded]);
    if (levels[chosen] !== undefined) return chosen;
    throw unimplemented(`the template demands level "${chosen}", which this server does not have`);
  }
  const kept = strongestOf([snapshot.isolation, minimumLevel]);
  if (asked === null) return kept;
  if (snapshot.kind === 'memory' && asked !== snapshot.isolation)
    throw invalid(
      `body.isolation: the processes of the snapshot continue at its level alone, "${snapshot.isolation}", not "${asked}"`,
    );
  return strongestOf([asked, kept]);
};
