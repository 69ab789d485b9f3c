import type { BuildStore, StartCommands } from '../store/build-store.ts';
import { createTurns } from '../turns.ts';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildSource, StagePlan } from './build-plan.ts';
import { type Place, toFirstPlace } from './build-steps.ts';
import { account } from './contexts/copy-step.ts';
import type { ImageCommand } from './inherit-start.ts';
import type { ImageConfig, RegistryCredentials, TemplateImages } from './template-images.ts';

/** The files of one build. */
export interface Made {
  image: string;
  imageBytes: number;
  env: Record<string, string>;
}

/** What a stage begins with, or has made. */
export interface StageFiles {
  rootfs: string;
  /** Undefined for the image of the installation. */
  made: Made | undefined;
  /** Where a further step runs. */
  place: Place;
  /** The variables of each sandbox. */
  env: Record<string, string>;
  image: ImageCommand;
  /** Of the template that it begins with. */
  start: StartCommands | null;
}

export interface StageBaseOptions {
  store: Pick<BuildStore, 'findBuild'>;
  images: TemplateImages;
  base: { rootfs: string };
  log: BuildLog;
  signal: AbortSignal;
}

/** What processes have in a container whose image names no folders of programs. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const MAX_PULLS = 2;
const noCommand: ImageCommand = { entrypoint: [], command: [] };
const userForm = new RegExp(`^${account}(?::${account})?$`);

/**
 * Makes what the stages of one build begin with, unless that is another stage. An image is pulled once. The function rejects with
 * `BuildError`, `UnusableImageError`, or the reason of `signal`.
 */
export const createStageBases = (options: StageBaseOptions) => {
  const { store, images, log, signal } = options;
  const turns = createTurns(MAX_PULLS);
  const pulled = new Map<string, ReturnType<TemplateImages['make']>>();
  const addLine = (message: string): void => log.add({ level: 'info', message, step: 'base' });

  const pull = (reference: string, credentials: RegistryCredentials | undefined) => {
    const key = JSON.stringify([reference, credentials]);
    const known = pulled.get(key);
    if (known) return known;
    const making = turns.take(() => {
      addLine(`FROM ${reference}`);
      return images.make({ reference, credentials, onMessage: addLine, signal });
    }, signal);
    pulled.set(key, making);
    return making;
  };

  return async (
    { usesConfig }: Pick<StagePlan, 'usesConfig'>,
    source: Exclude<BuildSource, { kind: 'stage' }>,
  ): Promise<StageFiles> => {
    if (source.kind === 'image') {
      const { digest, sizeBytes, ...config } = await pull(source.reference, source.credentials);
      const { env } = config;
      const made = { image: digest, imageBytes: sizeBytes, env };
      const place = usesConfig ? toPlace(config) : toFirstPlace(env);
      const image = usesConfig ? config : noCommand;
      return { rootfs: images.toPath(digest), made, place, env, image, start: null };
    }
    addLine(`FROM template ${source.name}`);
    const toFiles = (rootfs: string, env: Record<string, string>) => ({
      rootfs,
      env,
      place: usesConfig ? toPlace({ env, user: '', workdir: '' }) : toFirstPlace(env),
      image: noCommand,
    });
    if (source.build === null) return { ...toFiles(options.base.rootfs, {}), made: undefined, start: null };
    // From here on its file stays until this build has ended.
    const found = await store.findBuild(source.build.id);
    const { image = null, imageBytes = null, env = {}, start = null } = found ?? {};
    if (image === null || imageBytes === null)
      throw new BuildError('base', `the template ${source.name} was deleted`);
    return { ...toFiles(images.toPath(image), env), made: { image, imageBytes, env }, start };
  };
};

const toPlace = ({ env, user, workdir }: Pick<ImageConfig, 'env' | 'user' | 'workdir'>): Place => {
  if (user !== '' && !userForm.test(user))
    throw new BuildError('base', `the image has the user ${JSON.stringify(user)}, which no sandbox can have`);
  return { user: user || 'root', workdir: workdir || '/', env: { PATH: DEFAULT_PATH, ...env } };
};
