import { posix } from 'node:path';
import {
  RefusedCommandError,
  type SandboxRunner,
  UnknownUserError,
  UnusablePathError,
} from '../agent-commands/run-in-sandbox.ts';
import type { Clock } from '../clock.ts';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import { describeCommand } from './describe-step.ts';
import type { Mounter } from './mounts/mounter.ts';
import { refuseServer } from './refuse-server.ts';
import {
  expand,
  ofStep,
  type PositionedStep,
  type StepPosition,
  toNextPosition,
  toStepEnv,
  withFolder,
} from './step-position.ts';
import type { CopyRunner } from './uploads/copy-runner.ts';

/**
 * Adds a user with useradd of the shadow tools or adduser of busybox, or by hand in an image that has
 * neither.
 */
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
 * Runs one step of a build in its sandbox, at its position; `name` is its number. Rejects with `BuildError` when the step
 * fails, and otherwise with the reason of `signal`, or what the connection to the sandbox fails with.
 */
export const runBuildStep = async (
  { step, position }: Pick<PositionedStep, 'step' | 'position'>,
  options: {
    runner: SandboxRunner;
    copyRunner: CopyRunner;
    mounter: Mounter;
    clock: Clock;
    /** The longest time that the build may take. */
    buildTimeoutMs: number;
    log: BuildLog;
    name: string;
    signal: AbortSignal;
  },
): Promise<void> => {
  const { runner, log, name, signal } = options;
  const onLine = (message: string): void => log.add({ level: 'info', message, step: name });
  const env = toStepEnv(position);
  const findFolder = (): Promise<StepPosition> =>
    withFolder(position, (user) =>
      rejectUnstartable(name, 'there is no working folder', () => runner.findHome(user, { signal })),
    );
  switch (step.type) {
    case 'ENV':
    case 'ARG':
      return;
    case 'COPY': {
      await options.copyRunner.copy(step, { name, position: await findFolder(), signal });
      return;
    }
    case 'WORKDIR': {
      const next = ofStep(name, () => toNextPosition(step, position));
      await makeWorkdir(next, { runner, name, onLine, signal });
      return;
    }
    case 'VOLUME': {
      const { workdir } = await findFolder();
      const paths = ofStep(name, () => step.paths.map((path) => expand(path, position, step)));
      for (const path of paths) {
        const folder = { ...position, user: 'root', workdir: posix.resolve(workdir, path) };
        await makeWorkdir(folder, { runner, name, onLine, signal });
      }
      return;
    }
    case 'USER': {
      if (!step.isCreated) return;
      const args = ['-c', ADD_USER, 'sh', step.name];
      const command = { file: '/bin/sh', args, user: 'root', cwd: '/', env };
      const status = await runner.run(command, { onLine, signal });
      if (status !== 0) throw new BuildError(name, `cannot create the user '${step.name}'`);
      return;
    }
    case 'RUN': {
      const { command, user = position.user, shell, mounts } = step;
      const [file, ...args] = [...shell, command];
      const failure = `failed to run command '${describeCommand(step)}'`;
      const at = await findFolder();
      const run = (watched: { onOutput: () => void; signal: AbortSignal }) =>
        runner.run(
          { file, args, user, cwd: at.workdir, env },
          {
            endsAll: true,
            onLine: (line) => {
              watched.onOutput();
              onLine(line);
            },
            signal: watched.signal,
          },
        );
      const status = await options.mounter.during(mounts, { name, position: at, signal }, () =>
        rejectUnstartable(name, `${failure}: command failed`, () =>
          refuseServer(run, {
            ...options,
            onServer: (port) => log.add({ level: 'warn', message: describeServer(port), step: name }),
            toError: (port) => new BuildError(name, `${failure}: ${describeServer(port)}`),
          }),
        ),
      );
      if (status !== 0) throw new BuildError(name, `${failure}: exit status ${status}`);
    }
  }
};

const describeServer = (port: number): string =>
  `it writes nothing and something listens on port ${port}: this looks like a server: use the start command, as RUN has to end`;

/**
 * Makes the folder of a position where it is missing, for its user. Rejects with `BuildError` of the step `name`, the reason of
 * `signal`, or what the connection to the sandbox fails with.
 */
const makeWorkdir = async (
  { user, workdir, ...variables }: StepPosition,
  options: { runner: SandboxRunner; name: string; onLine: (line: string) => void; signal: AbortSignal },
): Promise<void> => {
  const { runner, name, onLine, signal } = options;
  const env = toStepEnv(variables);
  const isNew = await runner.makeFolder(workdir, { signal }).catch((error: unknown) => {
    if (!(error instanceof UnusablePathError)) throw error;
    throw new BuildError(name, `cannot make the folder '${workdir}': ${error.message}`, { cause: error });
  });
  // A new folder belongs to root already, so root needs no `chown`, and no shell for it.
  if (!isNew || isRoot(user)) return;
  const args = ['-c', 'chown "$1" "$2"', 'sh', toOwner(user), workdir];
  const status = await runner.run({ file: '/bin/sh', args, user: 'root', cwd: '/', env }, { onLine, signal });
  if (status !== 0) throw new BuildError(name, `cannot give the folder '${workdir}' to the user '${user}'`);
};

/** Returns what chown(1) gets for a user: a number is the group, too, as in other container tools. */
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
    // Put the protocol's code into the message: programs for the protocol look for it there.
    throw new BuildError(name, `${what}: unauthenticated: ${error.message}`, { cause: error });
  }
};
