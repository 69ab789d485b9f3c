import { posix } from 'node:path';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildStep } from './build-plan.ts';
import type { Copying } from './contexts/run-copy.ts';
import {
  RefusedCommandError,
  type SandboxRunner,
  UnknownUserError,
  UnusablePathError,
} from './run-in-sandbox.ts';

/** Where the next step runs. */
export interface Place {
  user: string;
  workdir: string;
  env: Record<string, string>;
}

/** Where the first step runs, with the variables of the image. */
export const toFirstPlace = (env: Record<string, string>): Place => ({
  user: 'user',
  workdir: '/home/user',
  env,
});

/** With useradd of the shadow tools or adduser of busybox, or by hand in an image that has neither. */
const ADD_USER = `id -u "$1" >/dev/null 2>&1 && exit
useradd --create-home "$1" 2>/dev/null && exit
adduser -D "$1" 2>/dev/null && exit
n=1000
while IFS=: read -r name x uid rest; do
  [ "$uid" -gt "$n" ] 2>/dev/null && [ "$uid" -lt 60000 ] && n=$uid
done </etc/passwd
n=$((n + 1))
echo "$1:x:$n:$n::/home/$1:/bin/sh" >>/etc/passwd && echo "$1:x:$n:" >>/etc/group &&
  mkdir -p "/home/$1" && chown "$n:$n" "/home/$1"`;

/**
 * Runs the steps of a stage in its sandbox, in order, beginning at `place`. Resolves with where
 * a further step would run. Rejects with `BuildError` when a step fails, and otherwise with the reason of `signal`, or what the connection to the sandbox fails with.
 */
export const runBuildSteps = async (
  steps: readonly BuildStep[],
  options: {
    runner: SandboxRunner;
    copying: Copying;
    place: Place;
    /** How many steps of other stages are numbered before these. */
    stepsBefore: number;
    log: BuildLog;
    signal: AbortSignal;
  },
): Promise<Place> => {
  let { place } = options;
  const firstRun = steps.find(({ type }) => type === 'RUN');
  for (const [index, step] of steps.entries()) {
    const name = String(options.stepsBefore + index + 1);
    options.log.add({ level: 'info', message: `step ${name}: ${describeStep(step)}`, step: name });
    // As container tools do: an image may name a folder that it does not have.
    if (step === firstRun && place.workdir === options.place.workdir)
      await makeWorkdir(place, { ...options, name, onLine: () => undefined });
    place = await runStep(step, { ...options, place, name });
  }
  return place;
};

const describeStep = (step: BuildStep): string => {
  switch (step.type) {
    case 'RUN':
      return `RUN ${step.command}`;
    case 'ENV':
      // Not the values: they may be secrets.
      return `ENV ${step.variables.map(([name]) => name).join(' ')}`;
    case 'WORKDIR':
      return `WORKDIR ${step.path}`;
    case 'USER':
      return `USER ${step.name}`;
    case 'COPY':
      return `COPY ${step.source} ${step.destination}`;
  }
};

const runStep = async (
  step: BuildStep,
  options: {
    runner: SandboxRunner;
    copying: Copying;
    place: Place;
    log: BuildLog;
    name: string;
    signal: AbortSignal;
  },
): Promise<Place> => {
  const { runner, place, log, name, signal } = options;
  const onLine = (message: string): void => log.add({ level: 'info', message, step: name });
  switch (step.type) {
    case 'ENV':
      return { ...place, env: setVariables(place.env, step.variables) };
    case 'COPY': {
      const destination = expand(step.destination, place.env);
      await options.copying.copy(step, { name, ...place, destination }, { signal });
      return place;
    }
    case 'WORKDIR': {
      const workdir = posix.resolve(place.workdir, expand(step.path, place.env));
      const inside = { ...place, workdir };
      await makeWorkdir(inside, { runner, name, onLine, signal });
      return inside;
    }
    case 'USER': {
      if (!step.isCreated) return { ...place, user: step.name };
      const args = ['-c', ADD_USER, 'sh', step.name];
      const command = { file: '/bin/sh', args, user: 'root', cwd: '/', env: place.env };
      const status = await runner.run(command, { onLine, signal });
      if (status !== 0) throw new BuildError(name, `cannot create the user '${step.name}'`);
      return { ...place, user: step.name };
    }
    case 'RUN': {
      const { command, user = place.user, shell } = step;
      const [file, ...args] = [...shell, command];
      const status = await rejectUnstartable(name, `failed to run command '${command}': command failed`, () =>
        runner.run({ file, args, user, cwd: place.workdir, env: place.env }, { onLine, signal }),
      );
      if (status !== 0)
        throw new BuildError(name, `failed to run command '${command}': exit status ${status}`);
      return place;
    }
  }
};

/**
 * Makes the folder of a place where it is missing, for its user. Rejects with `BuildError` of the step `name`, the reason of
 * `signal`, or what the connection to the sandbox fails with.
 */
const makeWorkdir = async (
  { user, workdir, env }: Place,
  options: { runner: SandboxRunner; name: string; onLine: (line: string) => void; signal: AbortSignal },
): Promise<void> => {
  const { runner, name, onLine, signal } = options;
  const isNew = await runner.makeFolder(workdir, { signal }).catch((error: unknown) => {
    if (!(error instanceof UnusablePathError)) throw error;
    throw new BuildError(name, `cannot make the folder '${workdir}': ${error.message}`, { cause: error });
  });
  // It belongs to root as it is, also where no shell could change that.
  if (!isNew || isRoot(user)) return;
  const args = ['-c', 'chown "$1" "$2"', 'sh', toOwner(user), workdir];
  const status = await runner.run({ file: '/bin/sh', args, user: 'root', cwd: '/', env }, { onLine, signal });
  if (status !== 0) throw new BuildError(name, `cannot give the folder '${workdir}' to the user '${user}'`);
};

/** As container tools do for a number. */
const toOwner = (user: string): string => (/^\d+$/.test(user) ? `${user}:${user}` : user);

const isRoot = (user: string): boolean => ['root', 'root:root', '0', '0:0'].includes(user);

/** A user that does not exist is the fault of the step, and so is a folder that an earlier one removed. */
const rejectUnstartable = async <T>(name: string, what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedCommandError)
      throw new BuildError(name, `${what}: ${error.message}`, { cause: error });
    if (!(error instanceof UnknownUserError)) throw error;
    // With the code of the protocol, which programs for it look for in this message.
    throw new BuildError(name, `${what}: unauthenticated: ${error.message}`, { cause: error });
  }
};

const setVariables = (
  env: Record<string, string>,
  variables: readonly (readonly [string, string])[],
): Record<string, string> => {
  let next = env;
  // A definition, as an assignment to "__proto__" would be lost.
  for (const [name, value] of variables)
    next = Object.fromEntries([...Object.entries(next), [name, expand(value, next)]]);
  return next;
};

/** `$NAME` and `${NAME}` become values, empty when unset. Nothing is run. */
const expand = (text: string, env: Record<string, string>): string =>
  text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, plain?: string) => {
    const name = braced ?? plain ?? '';
    return Object.hasOwn(env, name) ? (env[name] ?? '') : '';
  });
