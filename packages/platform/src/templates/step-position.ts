import { posix } from 'node:path';
import { MAX_WORD_LENGTH, parseWords, toText } from '@skerry/platform-client/words';
import type { RunConfig } from '../store/build-rows.ts';
import { BuildError } from './build-error.ts';
import type { BuildStep, StepWords } from './build-plan.ts';

const account = '(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\\d{1,10})';
const clause = '[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+';

/** A user and optionally a group after a colon, each a name or a number. */
export const accountForm = new RegExp(`^${account}(?::${account})?$`);
export const octalForm = /^0?[0-7]{1,4}$/;
/** Octal, or symbolic as chmod(1) reads it. */
export const modeForm = new RegExp(`^(?:0?[0-7]{1,4}|${clause}(?:,${clause})*)$`);

/** What processes have in a container whose image names no folders of programs. */
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The position of the next step: the user, folder and variables with which it runs. */
export interface StepPosition {
  user: string;
  /** Absolute, or `~` for the home of the user. */
  workdir: string;
  /** What a start command gets, too. */
  env: Record<string, string>;
  /** The build arguments, which only steps get. */
  buildArgs: Record<string, string>;
}

/** A step and where it runs. */
export interface PositionedStep {
  step: BuildStep;
  position: StepPosition;
  /** The number of the step in the build, from 1. */
  number: number;
}

/** The variables of a step: those of `ENV` hide build arguments. */
export const toStepEnv = ({
  env,
  buildArgs,
}: Pick<StepPosition, 'env' | 'buildArgs'>): Record<string, string> => ({
  ...buildArgs,
  ...env,
});

const HOME = '~';

/**
 * Where the first step runs. What the config does not name is `user` in its home, as programs for E2B expect, or in a Dockerfile as in
 * Docker.
 */
export const toFirstPosition = (
  { user, workdir, env }: RunConfig,
  { isDockerfile }: StepWords,
): StepPosition =>
  isDockerfile
    ? { user: user || 'root', workdir: workdir || '/', env: { PATH: DEFAULT_PATH, ...env }, buildArgs: {} }
    : { user: user || 'user', workdir: workdir || HOME, env, buildArgs: {} };

/**
 * The config after steps, of which the last has left that position. What neither they nor the config before them name stays unnamed; `USER` of
 * a Dockerfile names the folder as well, as in Docker.
 */
export const toRunConfig = (
  before: RunConfig,
  steps: readonly BuildStep[],
  position: StepPosition,
): RunConfig => {
  const namesUser = steps.some(({ type }) => type === 'USER');
  const namesFolder = steps.some(
    (step) => step.type === 'WORKDIR' || (step.type === 'USER' && step.isDockerfile),
  );
  const workdir = position.workdir === HOME ? '' : position.workdir;
  return {
    user: namesUser ? position.user : before.user,
    workdir: namesFolder ? workdir : before.workdir,
    env: position.env,
  };
};

/** Where the step after this one runs, when this one succeeds at that position. Call it within `ofStep`. */
export const toNextPosition = (step: BuildStep, position: StepPosition): StepPosition => {
  switch (step.type) {
    case 'ENV':
      return { ...position, env: setVariables(position.env, step, (env) => ({ ...position, env })) };
    case 'ARG':
      return {
        ...position,
        buildArgs: setVariables(position.buildArgs, step, (buildArgs) => ({ ...position, buildArgs })),
      };
    case 'WORKDIR':
      return { ...position, workdir: toFolder(expand(step.path, position, step), position) };
    case 'USER':
      return {
        ...position,
        user: step.isCreated ? step.name : requireAccount(expand(step.name, position, step)),
      };
    case 'RUN':
    case 'COPY':
    case 'VOLUME':
      return position;
  }
};

/** The path of a folder at a position. The home of most users is known only inside. */
const toFolder = (path: string, { user, workdir }: StepPosition): string => {
  if (posix.isAbsolute(path) || workdir !== HOME) return posix.resolve(workdir, path);
  const home =
    toKnownHome(user) ??
    refuse(
      `"${path}" is in the home of the user "${user}", which is known only inside: write the whole path`,
    );
  return posix.resolve(home, path);
};

/** Resolves with the position that has the path of its folder. Rejects as `findHome` does, which resolves with the home of a user. */
export const withFolder = async (
  position: StepPosition,
  findHome: (user: string) => Promise<string>,
): Promise<StepPosition> =>
  position.workdir === HOME
    ? { ...position, workdir: toKnownHome(position.user) ?? (await findHome(position.user)) }
    : position;

class WrongWordError extends Error {}

/** What `work` returns; a word that cannot be expanded is the fault of the step of that name: throws `BuildError`. */
export const ofStep = <T>(name: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WrongWordError)) throw error;
    throw new BuildError(name, error.message, { cause: error });
  }
};

const refuse = (message: string): never => {
  throw new WrongWordError(message);
};

/**
 * Sets variables. All values in a Dockerfile are from before the step; otherwise each may name those before
 * it.
 */
const setVariables = (
  before: Record<string, string>,
  step: Extract<BuildStep, { type: 'ENV' | 'ARG' }>,
  toPosition: (next: Record<string, string>) => StepPosition,
): Record<string, string> => {
  let next = before;
  // A definition, as an assignment to "__proto__" would be lost.
  for (const [name, value] of step.variables) {
    const expanded = expand(value, toPosition(step.isDockerfile ? before : next), step);
    next = Object.fromEntries([...Object.entries(next), [name, expanded]]);
  }
  if (Object.entries(next).flat().join('').length > MAX_WORD_LENGTH)
    refuse(`the variables take more than ${MAX_WORD_LENGTH / 1024} KiB together`);
  return next;
};

/** `user` or `user:group`, each a name or a number. Call it within `ofStep`. */
export const requireAccount = (text: string): string =>
  accountForm.test(text)
    ? text
    : refuse(`a user must be a name or a number, optionally with ":" and a group, got "${text}"`);

/** Call it within `ofStep`. */
export const requireMode = (text: string): string =>
  modeForm.test(text) ? text : refuse(`a mode must be octal or symbolic as u=rwX,go=rX, got "${text}"`);

/**
 * Replaces the variables of a string at a position: those that a command would have there, empty when unset. Nothing is run. Call it within
 * `ofStep`.
 */
export const expand = (
  text: string,
  position: Omit<StepPosition, 'workdir'>,
  { isDockerfile }: StepWords,
): string => {
  const lookUp = createLookUp(position);
  if (isDockerfile) {
    const [word = []] = parseWords(text, { escape: '\\', lookUp, refuse }, { whole: true });
    return toText(word) ?? '';
  }
  let { length } = text;
  return text.replace(
    /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
    (whole, braced?: string, plain?: string) => {
      const value = lookUp(braced ?? plain ?? '') ?? '';
      length += value.length - whole.length;
      if (length > MAX_WORD_LENGTH)
        refuse(`with its variables the text takes more than ${MAX_WORD_LENGTH / 1024} KiB`);
      return value;
    },
  );
};

/** What the agent gives every command, beside the variables of the position. */
const ofAccount: readonly string[] = ['HOME', 'USER', 'LOGNAME'];
const homes = new Map([
  ['root', '/root'],
  ['0', '/root'],
  ['user', '/home/user'],
]);
const toKnownHome = (user: string): string | undefined => homes.get(user.split(':')[0] ?? '');

const createLookUp = ({ user, env, buildArgs }: Omit<StepPosition, 'workdir'>) => {
  const known = { PATH: DEFAULT_PATH, E2B_SANDBOX: 'true', ...toStepEnv({ env, buildArgs }) };
  const [account = ''] = user.split(':');
  return (name: string): string | null => {
    if (Object.hasOwn(known, name)) return known[name as keyof typeof known];
    if (!ofAccount.includes(name)) return null;
    const home = toKnownHome(account);
    if (home === undefined)
      return refuse(
        `$${name} of the user "${account}" is known only inside: write what it stands for, or use it in RUN`,
      );
    return name === 'HOME' ? home : account.replace(/^0$/, 'root');
  };
};
