import { isDeepStrictEqual } from 'node:util';
import type { BuildStep, MountStep } from './build-plan.ts';

/** What runs the command of a step that names no shell. */
export const loginShell: readonly string[] = ['/bin/bash', '-l', '-c'];
/** What runs that of a Dockerfile without `SHELL`. */
const dockerfileShell: readonly string[] = ['/bin/sh', '-c'];

/** The command as it was written for one of the usual shells, or all its words when another program runs it. */
export const describeCommand = ({ shell, command }: Extract<BuildStep, { type: 'RUN' }>): string => {
  const isUsual = [loginShell, dockerfileShell].some((known) => isDeepStrictEqual(known, shell));
  return isUsual ? command : `[${[...shell, command].map((word) => JSON.stringify(word)).join(', ')}]`;
};

/** A line for people, without values that may be secrets. */
export const describeStep = (step: BuildStep): string => {
  switch (step.type) {
    case 'RUN':
      return ['RUN', ...step.mounts.map(describeMount), describeCommand(step)].join(' ');
    case 'ENV':
    case 'ARG':
      // Name the variables without their values, which may be secrets.
      return `${step.type} ${step.variables.map(([name]) => name).join(' ')}`;
    case 'WORKDIR':
      return `WORKDIR ${step.path}`;
    case 'VOLUME':
      return `VOLUME ${step.paths.join(' ')}`;
    case 'USER':
      return `USER ${step.name}`;
    case 'COPY':
      return `COPY ${step.source} ${step.destination}`;
  }
};

const describeMount = ({ type, target }: MountStep): string => `--mount=type=${type},target=${target}`;
