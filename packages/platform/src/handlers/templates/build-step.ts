import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { BuildStep } from '../../templates/build-plan.ts';
import { loginShell } from '../../templates/describe-step.ts';
import { accountForm } from '../../templates/step-place.ts';
import { parseCopyStep } from '../../templates/uploads/copy-step.ts';
import { parseMount } from './build-mount.ts';

type Step = components['schemas']['BuildStep'];

const VARIABLE = '[A-Za-z_][A-Za-z0-9_]*';
const USER = '[A-Za-z_][A-Za-z0-9_-]{0,31}';
const variableName = new RegExp(`^${VARIABLE}$`);
const userName = new RegExp(`^${USER}$`);

/**
 * Parses one step, whose shape was checked against the document. `stageCount` is the number of the stages before it. Throws
 * `invalid_argument`, naming the field.
 */
export const parseBuildStep = (step: Step, field: string, stageCount: number): BuildStep => {
  const { type, args, shell, content, mounts = [], dockerfile: isDockerfile = false } = step;
  const [first, second, ...more] = args;
  requireMatching(step, field);
  const requireFirst = (): string => {
    if (first) return first;
    throw invalid(`${field}.args must have a value`);
  };
  if ([...args, ...(shell ?? []), content ?? ''].some((arg) => arg.includes('\0')))
    throw invalid(`${field}.args must not contain NUL`);
  switch (type) {
    case 'RUN':
      if (more.length > 0) throw invalid(`${field}.args must be a command and optionally a user`);
      return {
        type,
        command: requireFirst(),
        user: second ? parseUser(second, field) : undefined,
        shell: shell ?? loginShell,
        mounts: mounts.map((mount, index) => parseMount(mount, `${field}.mounts[${index}]`, stageCount)),
      };
    case 'ENV':
    case 'ARG':
      return { type, variables: parseVariables(args, field), isDockerfile };
    case 'WORKDIR':
      if (second !== undefined) throw invalid(`${field}.args must be one path`);
      return { type, path: requireFirst(), isDockerfile };
    case 'VOLUME':
      requireFirst();
      return { type, paths: args, isDockerfile: true };
    case 'USER':
      if (second !== undefined) throw invalid(`${field}.args must be one name`);
      return isDockerfile
        ? { type, name: parseAccount(requireFirst(), field), isCreated: false, isDockerfile }
        : { type, name: parseUser(requireFirst(), field), isCreated: true, isDockerfile };
    case 'COPY':
    case 'ADD':
      return parseCopyStep(step, field, stageCount);
  }
};

const parseVariables = (args: readonly string[], field: string): [string, string][] => {
  if (args.length === 0 || args.length % 2 !== 0)
    throw invalid(`${field}.args must be names and values in turn`);
  return Array.from({ length: args.length / 2 }, (_, index) => {
    const [name = '', value = ''] = args.slice(2 * index, 2 * index + 2);
    if (!variableName.test(name))
      throw invalid(`${field}.args: a variable must match ${VARIABLE}, got "${name}"`);
    return [name, value];
  });
};

/** It becomes a word of a command, and part of a header. */
const parseUser = (name: string, field: string): string => {
  if (userName.test(name)) return name;
  throw invalid(`${field}.args: a user must match ${USER}, got "${name}"`);
};

/** A user that is not created, and a group. A word with variables is checked when they are known. */
const parseAccount = (text: string, field: string): string => {
  if (text.includes('$') || accountForm.test(text)) return text;
  throw invalid(
    `${field}.args: a user must be a name or a number, optionally with ":" and a group, got "${text}"`,
  );
};

/** Fields that mean nothing for the type of a step are a mistake. */
const requireMatching = (
  { type, shell, fromStage, content, mounts, dockerfile }: Step,
  field: string,
): void => {
  if (shell !== undefined && type !== 'RUN') throw invalid(`${field}.shell is for RUN`);
  if (mounts !== undefined && type !== 'RUN') throw invalid(`${field}.mounts is for RUN`);
  if (fromStage !== undefined && type !== 'COPY') throw invalid(`${field}.fromStage is for COPY`);
  if (content !== undefined && type !== 'COPY') throw invalid(`${field}.content is for COPY`);
  if (dockerfile === true && type === 'RUN') throw invalid(`${field}.dockerfile is not for RUN`);
};
