import type { IsolationLevel } from '@skerry/contract/isolation';
import type { NetworkPolicy } from '@skerry/runtime';
import type { Hosts } from '../../hosts/hosts.ts';
import type { Limits } from '../../limits.ts';
import { type BuildRow, emptyRunConfig } from '../../store/build-rows.ts';
import type {
  Ingress,
  NewSandbox,
  PauseKind,
  SandboxRow,
  SnapshotRow,
  TemplateRow,
} from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import type { SpecRequest, WarmSpec } from '../../warm/warm-pool.ts';
import type { Origin } from './reserve.ts';
import { findCheckpoint, toOwnCommands } from './start-in-new-sandbox.ts';

export interface CreateRequest {
  /** Whose the sandbox is. */
  project: string;
  /** The key of the caller. */
  keyId: string | null;
  template: TemplateRow;
  /** The snapshot that it begins with; null: the image of the template. */
  snapshot: SnapshotRow | null;
  /** The build of the template, if it has builds. */
  build: BuildRow | null;
  timeoutMs: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  secure: boolean;
  /** The level that `chooseIsolation` returned. */
  isolation: IsolationLevel;
  /** Null: the creator did not choose; then it is open. */
  network: NetworkPolicy | null;
  /** Null: the creator did not choose; then its ports are public. */
  ingress: Ingress | null;
  /** What expiry keeps; null: the sandbox is killed then. */
  autoPause: PauseKind | null;
  /** Whether traffic resumes it. */
  autoResume: boolean;
  /** Ends the wait for the start command of the template. */
  signal?: AbortSignal | undefined;
  /** Whether another server has sent it here, where it has to stay. */
  isForwarded?: boolean;
}

/** The limits of a sandbox. */
export type Size = Pick<Limits, 'cpuCount' | 'memoryMb' | 'diskMb'>;

/** Converts a request to the spec of an instance. */
export type ToSpec = (size: Size, request: SpecRequest) => WarmSpec;

/** A sandbox before it has a place, and what it begins with. */
export interface Planned {
  wanted: Omit<NewSandbox, 'id'>;
  origin: Origin;
}

/** The least time that a sandbox lives when traffic has resumed it. */
const MIN_WAKE_MS = 300_000;

/** How long it lives then, by the time to live that its creator chose. */
const toWakeMs = (timeoutMs: number): number => Math.max(timeoutMs, MIN_WAKE_MS);

/** Finds out what a new sandbox begins with, and where it can. */
export const planCreate = async (
  {
    template,
    snapshot,
    build,
    timeoutMs,
    envVars,
    signal,
    isForwarded,
    autoResume,
    ...request
  }: CreateRequest,
  { store, hosts, toSpec, createdAt }: { store: Store; hosts: Hosts; toSpec: ToSpec; createdAt: number },
): Promise<Planned> => {
  const { features } = hosts;
  const { isolation } = request;
  const { cpuCount, memoryMb, diskMb } = snapshot ?? build ?? template;
  const size = { cpuCount, memoryMb, diskMb };
  const checkpoint =
    build && snapshot === null ? await findCheckpoint(build, { store, features, isolation }) : null;
  const buildId = snapshot?.buildId ?? build?.id ?? null;
  const files = build ?? (buildId === null ? undefined : await store.findBuild(buildId));
  const { env, runConfig } = files ?? { env: {}, runConfig: emptyRunConfig };
  const image = { spec: toSpec(size, { ...request, snapshot, build }), commands: toOwnCommands(build) };
  const staysHere = isForwarded === true;
  const wanted = {
    templateId: template.id,
    templateName: template.name,
    snapshotId: (snapshot ?? checkpoint)?.id ?? null,
    buildId,
    // The creator's variables replace those of the image.
    envVars: { ...env, ...envVars },
    defaultUser: runConfig.user,
    defaultWorkdir: runConfig.workdir,
    createdAt,
    endAt: createdAt + timeoutMs,
    wakeMs: autoResume ? toWakeMs(timeoutMs) : null,
    ...request,
    ...size,
  };
  const given = {
    // Only sandboxes that begin with an image are started in advance.
    mayBeWarm: snapshot === null && image.commands === null,
    node: snapshot && (await hosts.homeOf(snapshot, { staysHere })),
    signal,
    staysHere,
  };
  if (checkpoint === null) return { wanted, origin: { ...given, ...image } };
  const spec = toSpec(size, { ...request, snapshot: checkpoint, build });
  const checkpointNode = await hosts.homeOf(checkpoint, { staysHere });
  return { wanted, origin: { ...given, spec, commands: null, otherwise: image, checkpointNode } };
};

/** A capture of a sandbox, and what of its copy is not the same. */
export interface Captured {
  /** The id of the capture. */
  id: string;
  /** The key of the caller. */
  keyId: string | null;
  timeoutMs: number;
}

/** A copy of a sandbox from a capture of it; all but id, token, key and time is the same. */
export const planFork = (
  source: SandboxRow,
  { id, keyId, timeoutMs, createdAt }: Captured & { createdAt: number },
  toSpec: ToSpec,
): Planned => {
  const { project, templateId, templateName, snapshotId, buildId, metadata, secure, autoPause } = source;
  const {
    isolation,
    envVars,
    defaultUser,
    defaultWorkdir,
    network,
    ingress,
    cpuCount,
    memoryMb,
    diskMb,
    node,
  } = source;
  return {
    wanted: {
      ...{
        project,
        keyId,
        templateId,
        templateName,
        snapshotId,
        buildId,
        metadata,
        secure,
        network,
        ingress,
        autoPause,
      },
      isolation,
      ...{ envVars, defaultUser, defaultWorkdir },
      wakeMs: source.wakeMs === null ? null : toWakeMs(timeoutMs),
      ...{ createdAt, endAt: createdAt + timeoutMs, cpuCount, memoryMb, diskMb },
    },
    origin: {
      spec: toSpec(source, { isolation, network, snapshot: { id }, build: null }),
      ...{ commands: null, mayBeWarm: false, node, staysHere: true },
    },
  };
};
