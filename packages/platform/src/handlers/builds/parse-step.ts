import type { components } from '@skerry/platform-client';
import type { BuildStep } from '../../templates/build-plan.ts';
import { loginShell } from '../../templates/describe-step.ts';
import { accountForm } from '../../templates/step-position.ts';
import type { ToProblem } from './build-problem.ts';
import { parseCopy } from './parse-copy.ts';
import { parseMount } from './parse-mount.ts';

type Step = components['schemas']['BuildStep'];

const VARIABLE = '[A-Za-z_][A-Za-z0-9_]*';
const USER = '[A-Za-z_][A-Za-z0-9_-]{0,31}';
const variableName = new RegExp(`^${VARIABLE}$`);
const userName = new RegExp(`^${USER}$`);

/**
 * Parses one step, whose shape was checked against the document. `stageCount` is the number of the stages before it. Throws
 * the problem of a field.
 */
export const parseStep = (step: Step, problem: ToProblem, stageCount: number): BuildStep => {
  const { type, args, shell, content, mounts = [], dockerfile: isDockerfile = false } = step;
  const [first, second, ...more] = args;
  requireMatching(step, problem);
  const requireFirst = (): string => {
    if (first) return first;
    throw problem('args', 'must have a value');
  };
  if ([...args, ...(shell ?? []), content ?? ''].some((arg) => arg.includes('\0')))
    throw problem('args', 'must not contain NUL');
  switch (type) {
    case 'RUN':
      if (more.length > 0) throw problem('args', 'must be a command and optionally a user');
      return {
        type,
        command: requireFirst(),
        user: second ? parseUser(second, problem) : undefined,
        shell: shell ?? loginShell,
        mounts: mounts.map((mount, index) =>
          parseMount(mount, { name: `mounts[${index}]`, problem, stageCount }),
        ),
      };
    case 'ENV':
    case 'ARG':
      return { type, variables: parseVariables(args, problem), isDockerfile };
    case 'WORKDIR':
      if (second !== undefined) throw problem('args', 'must be one path');
      return { type, path: requireFirst(), isDockerfile };
    case 'VOLUME':
      requireFirst();
      return { type, paths: args, isDockerfile: true };
    case 'USER':
      if (second !== undefined) throw problem('args', 'must be one name');
      return isDockerfile
        ? { type, name: parseAccount(requireFirst(), problem), isCreated: false, isDockerfile }
        : { type, name: parseUser(requireFirst(), problem), isCreated: true, isDockerfile };
    case 'COPY':
    case 'ADD':
      return parseCopy(step, problem, stageCount);
  }
};

const parseVariables = (args: readonly string[], problem: ToProblem): [string, string][] => {
  if (args.length === 0 || args.length % 2 !== 0) throw problem('args', 'must be names and values in turn');
  return Array.from({ length: args.length / 2 }, (_, index) => {
    const [name = '', value = ''] = args.slice(2 * index, 2 * index + 2);
    if (!variableName.test(name))
      throw problem('args', `must have names of variables that match ${VARIABLE}, got "${name}"`);
    return [name, value];
  });
};

/** The name becomes a word of a command, and part of a header. */
const parseUser = (name: string, problem: ToProblem): string => {
  if (userName.test(name)) return name;
  throw problem('args', `must name a user that matches ${USER}, got "${name}"`);
};

/** A user that is not created, and a group. A word with variables is checked when they are known. */
const parseAccount = (text: string, problem: ToProblem): string => {
  if (text.includes('$') || accountForm.test(text)) return text;
  throw problem(
    'args',
    `must have as user a name or a number, optionally with ":" and a group, got "${text}"`,
  );
};

/** Fields that mean nothing for the type of a step are a mistake. */
const requireMatching = (
  { type, shell, fromStage, content, mounts, dockerfile }: Step,
  problem: ToProblem,
): void => {
  if (shell !== undefined && type !== 'RUN') throw problem('shell', 'is for RUN');
  if (mounts !== undefined && type !== 'RUN') throw problem('mounts', 'is for RUN');
  if (fromStage !== undefined && type !== 'COPY') throw problem('fromStage', 'is for COPY');
  if (content !== undefined && type !== 'COPY') throw problem('content', 'is for COPY');
  if (dockerfile === true && type === 'RUN') throw problem('dockerfile', 'is not for RUN');
};
