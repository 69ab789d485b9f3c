import type { StartCommands } from '../../store/build-rows.ts';
import type { BuildPlan } from '../build-plan.ts';
import type { StepPosition } from '../step-position.ts';

/** The command of an image and its check, in words, and its ports; empty for none. */
export interface ImageCommand {
  entrypoint: readonly string[];
  command: readonly string[];
  healthcheck: readonly string[];
  exposedPorts: readonly number[];
}

type OwnStart = Pick<
  BuildPlan,
  'startCmd' | 'readyCmd' | 'entrypoint' | 'command' | 'healthcheck' | 'exposedPorts'
>;

/**
 * The start commands of a build: its own run where a further step would. Without any, those of its base remain, where
 * they run there. Build arguments are not among its variables. A check of its own alone replaces that of its base; a start command replaces both.
 * One with words of the image has the ports of the image, and its check, unless the build has a check of its own or an empty one. Ports
 * are kept only without a check.
 */
export const inheritStart = (
  own: OwnStart,
  {
    position,
    inherited,
    image,
  }: { position: StepPosition; inherited: StartCommands | null; image: ImageCommand },
): StartCommands | null => {
  const start = toStart(own, image);
  const usesImage = hasWordsOf(image, own);
  const imageCheck = usesImage ? image.healthcheck : undefined;
  const ready = toReady({ ...own, healthcheck: own.healthcheck ?? imageCheck });
  const { user, workdir, env } = position;
  const where = { user, workdir, env };
  if (start === undefined) {
    if (ready === undefined) return inherited;
    const {
      readyWords: _words,
      exposedPorts: _ports,
      ...rest
    }: StartCommands = inherited ?? {
      startCmd: null,
      readyCmd: null,
      ...where,
    };
    return { ...rest, ...ready };
  }
  if (ready !== undefined) return { ...start, ...ready, ...where };
  const exposedPorts = [...new Set([...own.exposedPorts, ...(usesImage ? image.exposedPorts : [])])];
  return { ...start, readyCmd: null, ...(exposedPorts.length > 0 && { exposedPorts }), ...where };
};

/** Whether what is started is only what the image starts. */
export const isOfImage = ({ startCmd, entrypoint, command }: OwnStart): boolean =>
  startCmd === undefined && entrypoint === undefined && command === undefined;

/**
 * Joins entry point and command as container tools do: an entry point of the template hides the command of
 * the image.
 */
const toStart = (
  { startCmd, entrypoint, command }: OwnStart,
  image: ImageCommand,
): Pick<StartCommands, 'startCmd' | 'startWords'> | undefined => {
  if (startCmd !== undefined) return { startCmd };
  const words = [
    ...(entrypoint ?? image.entrypoint),
    ...(command ?? (entrypoint === undefined ? image.command : [])),
  ];
  return words.length === 0 ? undefined : { startCmd: toText(words), startWords: words };
};

const toReady = ({
  readyCmd,
  healthcheck,
}: Pick<OwnStart, 'readyCmd' | 'healthcheck'>):
  | Pick<StartCommands, 'readyCmd' | 'readyWords'>
  | undefined => {
  if (readyCmd !== undefined) return { readyCmd };
  if (healthcheck === undefined || healthcheck.length === 0) return undefined;
  return { readyCmd: toText(healthcheck), readyWords: healthcheck };
};

/** Whether what is started has words of the image: its check and its ports are not those of another program. */
const hasWordsOf = (image: ImageCommand, { startCmd, entrypoint, command }: OwnStart): boolean => {
  if (startCmd !== undefined || entrypoint !== undefined) return false;
  const used = command === undefined ? [...image.entrypoint, ...image.command] : image.entrypoint;
  return used.length > 0;
};

/** Quotes words for the messages that people read. */
const toText = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
