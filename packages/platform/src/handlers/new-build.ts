import { availableParallelism, totalmem } from 'node:os';
import { invalid } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { components } from '@skerry/platform-client';
import type { Features } from '@skerry/runtime';
import { defaultLimits } from '../limits.ts';
import { requireLevel } from '../sandboxes/create/choose-isolation.ts';
import type { BuildRequest } from '../templates/template-builder.ts';
import { DEFAULT_TAG, parseNewName, requireOwnTeam } from './templates/template-reference.ts';

/** The document requires `name` or the older `alias`. */
export type NewBuildBody = Partial<components['schemas']['BuildRequestV2']> & {
  name?: string;
  tags?: string[];
  minFreeDiskMb?: number;
  isolation?: IsolationLevel;
};

/** The document requires it. */
const MIN_MEMORY_MB = 128;
/** The part of a sandbox's disk that its file system leaves to files. */
const FREE_SHARE = 0.9;

export interface NewBuildBounds {
  /** The disk of every sandbox. */
  diskMb: number;
  /** What the host has. The defaults are allowed anywhere. */
  maxCpuCount: number;
  maxMemoryMb: number;
  levels: Features['levels'];
}

/** The bounds of this host, with that disk of every sandbox and those levels. */
export const toNewBuildBounds = (
  diskMb: number,
  { levels }: Pick<NewBuildBounds, 'levels'>,
): NewBuildBounds => ({
  diskMb,
  levels,
  maxCpuCount: availableParallelism(),
  maxMemoryMb: Math.floor(totalmem() / 2 ** 20),
});

/**
 * Parses the fields of a new build, whose shape was checked against the document. Throws `invalid_argument`, naming the
 * field, also for one that requests a feature that this server lacks.
 */
export const parseNewBuild = (
  body: NewBuildBody,
  { diskMb, maxCpuCount, maxMemoryMb, levels, project }: NewBuildBounds & { project: string },
  part = 'body',
): BuildRequest => {
  requireOwnTeam(`${part}.teamID`, body.teamID, project);
  const { cpuCount = defaultLimits.cpuCount, memoryMB = defaultLimits.memoryMb, minFreeDiskMb = 0 } = body;
  if (cpuCount !== 1 && cpuCount % 2 !== 0)
    throw invalid(`${part}.cpuCount must be 1 or an even number, got ${cpuCount}`);
  const mostCpus = Math.max(maxCpuCount, defaultLimits.cpuCount);
  if (cpuCount > mostCpus) throw invalid(`${part}.cpuCount must be from 1 to ${mostCpus}, got ${cpuCount}`);
  const mostMemoryMb = Math.max(maxMemoryMb, defaultLimits.memoryMb);
  if (memoryMB > mostMemoryMb)
    throw invalid(`${part}.memoryMB must be from ${MIN_MEMORY_MB} to ${mostMemoryMb}, got ${memoryMB}`);
  if (minFreeDiskMb > diskMb * FREE_SHARE)
    throw invalid(
      `${part}.minFreeDiskMb must be at most ${Math.floor(diskMb * FREE_SHARE)}: larger disks are not supported by this server`,
    );
  const { isolation = null } = body;
  if (isolation !== null) requireLevel(`${part}.isolation`, isolation, levels);
  const field = body.name === undefined ? `${part}.alias` : `${part}.name`;
  const { name, tags } = parseNames(project, {
    ...{ field, text: body.name ?? body.alias ?? '' },
    ...{ others: body.tags ?? [], othersField: `${part}.tags` },
  });
  return { project, name, tags, cpuCount, memoryMb: memoryMB, minFreeDiskMb, isolation };
};

/** A tag in the name joins the others; without any, the tag is `default`. */
const parseNames = (
  project: string,
  {
    field,
    text,
    others,
    othersField,
  }: { field: string; text: string; others: readonly string[]; othersField: string },
): { name: string; tags: string[] } => {
  const { name, tag } = parseNewName(field, text, project);
  const given = text.includes(':') ? [tag] : [];
  const more = others.map(
    (other, index) => parseNewName(`${othersField}[${index}]`, `${name}:${other}`, project).tag,
  );
  const tags = [...new Set([...given, ...more])];
  return { name, tags: tags.length > 0 ? tags : [DEFAULT_TAG] };
};
