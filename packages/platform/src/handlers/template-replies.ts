import { createHash } from 'node:crypto';
import type { components } from '@skerry/platform-client';
import { toBuildId } from '../ids.ts';
import type { BuildLogRow, BuildRow } from '../store/build-rows.ts';
import type { ListedBuild, ListedTemplate, TemplateRow } from '../store/rows.ts';
import { AGENT_VERSION } from './agent-version.ts';

type Schemas = components['schemas'];

type Named = Pick<TemplateRow, 'project' | 'name'>;

export const toFullNames = ({ project, name }: Named): string[] =>
  name === null ? [] : [`${project}/${name}`];

const toNames = (template: Named) => ({
  names: toFullNames(template),
  aliases: template.name === null ? [] : [template.name],
});

export const toBuildRequested = (
  build: BuildRow,
  template: Named & Pick<TemplateRow, 'public'>,
): Schemas['BuildRequested'] => ({
  templateID: build.templateId,
  buildID: toBuildId(build.id),
  public: template.public,
  tags: [...build.tags],
  ...toNames(template),
});

/** The build id of the image of the installation, which has no build on record. */
export const toImageId = (templateId: string): string =>
  createHash('sha256').update(`image of ${templateId}`).digest('hex').slice(0, 32);

const toTime = (ms: number): string => new Date(ms).toISOString();

/** A build as far as callers see it; a snapshot has the same fields, but those of the start command. */
type ShownBuild = ListedBuild & Partial<Pick<BuildRow, 'start' | 'checkpointId'>>;

const toLastChange = (build: Partial<ShownBuild> & { createdAt: number }): number =>
  build.finishedAt ?? build.startedAt ?? build.createdAt;

export const toTemplate = (listed: ListedTemplate): Schemas['Template'] => {
  const { template, build, buildCount, spawnCount, lastSpawnedAt } = listed;
  const { cpuCount, memoryMb, diskMb } = build ?? template;
  return {
    templateID: template.id,
    buildID: toBuildId(build?.id ?? toImageId(template.id)),
    cpuCount,
    memoryMB: memoryMb,
    diskSizeMB: diskMb,
    ...(build?.isolation && { isolation: build.isolation }),
    public: template.public,
    ...toNames(template),
    createdAt: toTime(template.createdAt),
    updatedAt: toTime(toLastChange(build ?? template)),
    createdBy: null,
    lastSpawnedAt: lastSpawnedAt === null ? null : toTime(lastSpawnedAt),
    spawnCount,
    buildCount,
    envdVersion: AGENT_VERSION,
    buildStatus: build?.state ?? 'ready',
  };
};

const toTemplateBuild = (build: ShownBuild): Schemas['TemplateBuild'] => ({
  buildID: toBuildId(build.id),
  status: build.state,
  cpuCount: build.cpuCount,
  memoryMB: build.memoryMb,
  diskSizeMB: build.diskMb,
  ...(build.isolation && { isolation: build.isolation }),
  createdAt: toTime(build.createdAt),
  updatedAt: toTime(toLastChange(build)),
  ...(build.finishedAt !== null && { finishedAt: toTime(build.finishedAt) }),
  envdVersion: AGENT_VERSION,
  ...(build.start?.startCmd != null && {
    startsFrom: build.checkpointId == null ? ('command' as const) : ('checkpoint' as const),
  }),
});

/** The image of the installation counts as the only build of its template. */
export const toTemplateWithBuilds = (
  { template, build, spawnCount, lastSpawnedAt }: ListedTemplate,
  builds: readonly ShownBuild[],
): Schemas['TemplateWithBuilds'] => {
  const { createdAt } = template;
  const image = {
    ...template,
    isolation: null,
    id: toImageId(template.id),
    state: 'ready' as const,
    startedAt: createdAt,
    finishedAt: createdAt,
  };
  return {
    templateID: template.id,
    public: template.public,
    ...toNames(template),
    createdAt: toTime(createdAt),
    updatedAt: toTime(toLastChange(build ?? template)),
    lastSpawnedAt: lastSpawnedAt === null ? null : toTime(lastSpawnedAt),
    spawnCount,
    builds: (template.kind === 'image' ? [image] : builds).map(toTemplateBuild),
  };
};

export const toBuildLogEntry = ({ at, level, message, step }: BuildLogRow): Schemas['BuildLogEntry'] => ({
  timestamp: toTime(at),
  level,
  message,
  ...(step !== null && { step }),
});

export const toBuildInfo = (build: BuildRow, entries: readonly BuildLogRow[]): Schemas['BuildInfo'] => ({
  templateID: build.templateId,
  buildID: toBuildId(build.id),
  status: build.state,
  logs: [],
  logEntries: entries.map(toBuildLogEntry),
  ...(build.reason !== null && { reason: build.reason }),
});
