import { createTurns } from '@skerry/contract/turns';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import { emptyRunConfig, type RunConfig, type StartCommands } from '../store/build-rows.ts';
import type { ImageConfig } from '../store/cache/cache-rows.ts';
import type { Store } from '../store/store.ts';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildSource, StagePlan } from './build-plan.ts';
import { type ExportedBase, type ExportOptions, exportBase } from './cache/export-base.ts';
import { toCacheKey } from './cache/key-chain.ts';
import { type PulledBase, pullBase } from './cache/pull-base.ts';
import type { SharedWork, WorkShare } from './cache/shared-work.ts';
import type { ImageCommand } from './start/inherit-start.ts';
import { accountForm, type StepPosition, toFirstPosition } from './step-position.ts';

/** The files of one build. */
export interface Made {
  image: string;
  imageBytes: number;
  env: Record<string, string>;
}

/** What a stage begins with, or has made. */
export interface StageFiles {
  rootfs: string;
  /** The digest of its image, or what else shows that it is another one. */
  identity: string;
  /** Undefined for the image of the installation. */
  made: Made | undefined;
  /** Where a further step runs. */
  position: StepPosition;
  runConfig: RunConfig;
  /** The variables of each sandbox. */
  env: Record<string, string>;
  image: ImageCommand;
  /** The start commands of the template that the stage is created from. */
  start: StartCommands | null;
  /** The key of the stage's image in the cache; null: the cache does not have it. */
  cacheKey: string | null;
}

export interface StageBaseOptions extends ExportOptions {
  images: TemplateImages;
  buildId: string;
  store: Pick<Store, 'findBuild'>;
  base: InstallationImage;
  shared: SharedWork;
  /** Whether steps run on them: their results need the image, also when its template is deleted. */
  hasSteps: boolean;
  log: BuildLog;
  signal: AbortSignal;
}

type BaseSource = Exclude<BuildSource, { kind: 'stage' }>;
type ImageSource = Extract<BuildSource, { kind: 'image' }>;
type SnapshotSource = Extract<BuildSource, { kind: 'snapshot' }>;

const MAX_PULLS = 2;
const noCommand: ImageCommand = { entrypoint: [], command: [], healthcheck: [], exposedPorts: [] };
const MAX_SHOWN = 200;

/**
 * Makes what the stages of one build begin with, unless that is another stage. An image is pulled once, and so is a snapshot
 * written. The function rejects with `BuildError`, `UnusableImageError`, the reason of `signal`, or what the runtime fails with.
 */
export const createStageBases = (options: StageBaseOptions) => {
  const { store, images, base, cache, secret, shared, log, signal } = options;
  const turns = createTurns(MAX_PULLS);
  const pulled = new Map<string, Promise<PulledBase>>();
  const exported = new Map<string, Promise<ExportedBase>>();
  const addLine = (message: string): void => log.add({ level: 'info', message, step: 'base' });

  const makeOnce = <T>(
    known: Map<string, Promise<T>>,
    key: string,
    work: (share: WorkShare) => Promise<T>,
  ): Promise<T> => {
    const making =
      known.get(key) ??
      turns.take(async () => {
        using share = shared.begin(options.buildId);
        return await work(share);
      }, signal);
    known.set(key, making);
    return making;
  };

  const pull = (source: ImageSource, force: boolean): Promise<PulledBase> => {
    const { reference, credentials } = source;
    return makeOnce(pulled, JSON.stringify([reference, credentials]), (share) => {
      addLine(toTitle(reference, source));
      return pullBase(source, { log, share, signal, force }, options);
    });
  };

  const exportFiles = (source: SnapshotSource, force: boolean): Promise<ExportedBase> =>
    makeOnce(exported, source.snapshot.id, (share) => {
      addLine(toTitle(`snapshot ${source.name}`, source));
      return exportBase(source, { log, share, signal, force }, options);
    });

  /** Resolves with its key, or null without steps. */
  const keepForSteps = async (made: Made, description: string): Promise<string | null> => {
    if (!options.hasSteps) return null;
    const key = toCacheKey(secret, ['template', made.image]);
    await cache.keepBase({ ...made, config: null }, { key, description });
    return key;
  };

  const toFiles = (made: Made): Pick<StageFiles, 'rootfs' | 'identity' | 'made' | 'env' | 'image'> => ({
    rootfs: images.toPath(made.image),
    identity: made.image,
    made,
    env: made.env,
    image: noCommand,
  });

  return async (
    { usesConfig, cacheableSteps }: Pick<StagePlan, 'usesConfig' | 'cacheableSteps'>,
    source: BaseSource,
  ): Promise<StageFiles> => {
    const begin = (runConfig: RunConfig): Pick<StageFiles, 'runConfig' | 'position'> => ({
      runConfig,
      position: toFirstPosition(runConfig, { isDockerfile: usesConfig }),
    });
    if (source.kind === 'image') {
      const { config, cacheKey, ...made } = await pull(source, cacheableSteps === null);
      if (usesConfig) refuseTriggers(config);
      const files = { ...toFiles({ ...made, env: config.env }), ...begin(ofImage(config)) };
      return { ...files, image: usesConfig ? config : noCommand, start: null, cacheKey };
    }
    if (source.kind === 'archive') {
      addLine('FROM the uploaded archive');
      const loaded = await images.load({
        archive: source.path,
        image: source.image,
        onMessage: addLine,
        signal,
      });
      const made = { image: loaded.digest, imageBytes: loaded.sizeBytes, env: loaded.env };
      const cacheKey = await keepForSteps(made, 'FROM an uploaded archive');
      return { ...toFiles(made), ...begin(ofImage(loaded)), start: null, cacheKey };
    }
    if (source.kind === 'snapshot') {
      const { buildId } = source.snapshot;
      // Use the settings of the template below the snapshot, as a sandbox that is created from it does.
      const none = { env: {}, runConfig: emptyRunConfig, start: null };
      const found = buildId === null ? none : await store.findBuild(buildId);
      if (found === undefined) throw new BuildError('base', `the snapshot ${source.name} was deleted`);
      const { env, runConfig, start } = found;
      const { cacheKey, ...files } = await exportFiles(source, cacheableSteps === null);
      return { ...toFiles({ ...files, env }), ...begin(runConfig), start, cacheKey };
    }
    addLine(toTitle(`template ${source.name}`, source));
    if (source.build === null) {
      const { rootfs, digest = '' } = base;
      const rest = { made: undefined, env: {}, image: noCommand, start: null, cacheKey: null };
      return { rootfs, identity: `${rootfs} ${digest}`, ...begin(emptyRunConfig), ...rest };
    }
    // From here on its file stays until this build has ended.
    const found = await store.findBuild(source.build.id);
    const { image = null, imageBytes = null } = found ?? {};
    if (found === undefined || image === null || imageBytes === null)
      throw new BuildError('base', `the template ${source.name} was deleted`);
    const { env, runConfig, start } = found;
    const made = { image, imageBytes, env };
    const cacheKey = await keepForSteps(made, `FROM template ${source.name}`);
    return { ...toFiles(made), ...begin(runConfig), start, cacheKey };
  };
};

const toTitle = (what: string, { requestedAs }: { requestedAs?: string | undefined }): string =>
  requestedAs === undefined ? `FROM ${what}` : `FROM ${requestedAs}, which is ${what} on this server`;

/**
 * Throws when the image has ONBUILD triggers: they are Dockerfile instructions, which only clients can read,
 * and would run as the first steps.
 */
const refuseTriggers = ({ onbuild: [first, ...others] }: Pick<ImageConfig, 'onbuild'>): void => {
  if (first === undefined) return;
  const shown = first.length > MAX_SHOWN ? `${first.slice(0, MAX_SHOWN)}…` : first;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  throw new BuildError('base', `the image has "ONBUILD ${shown}"${more}: ONBUILD is not supported`);
};

/** What an image names. With a user and no folder its processes begin in the root folder, where they do in Docker. */
const ofImage = ({ env, user, workdir }: RunConfig): RunConfig => {
  if (user !== '' && !accountForm.test(user))
    throw new BuildError('base', `the image has the user ${JSON.stringify(user)}, which no sandbox can have`);
  return { env, user, workdir: workdir || (user && '/') };
};
