import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Store } from '../store/store.ts';
import type { BuildPlan, BuildSource, BuildStep } from '../templates/build-plan.ts';
import { parseCopyStep } from '../templates/contexts/copy-step.ts';
import type { RegistryCredentials } from '../templates/template-images.ts';
import { requireTemplate } from './template-reference.ts';

type Body = components['schemas']['BuildStart'];
type Step = components['schemas']['BuildStep'];
type Registry = components['schemas']['ImageRegistry'];

/** The image that clients begin with when nothing else is asked for: here it is the base template. */
const defaultImage = /^(?:docker\.io\/)?e2bdev\/base(?::latest)?$/;
const BASE = 'base';

const unsupported = (field: string): Error => invalid(`${field}: not supported by this server`);

/**
 * Parses the body of a build's start, whose shape was checked against the document. Rejects with `invalid_argument`,
 * naming the field, also for one that requests a feature that this server lacks, and with `not_found` for an unknown
 * template.
 */
export const parseBuildStart = async (body: Body, store: Store): Promise<BuildPlan> => {
  const steps = (body.steps ?? []).map((step, index) => parseStep(step, `body.steps[${index}]`));
  return {
    source: await parseSource(body, store),
    steps,
    cacheableSteps: countCacheable(body),
    startCmd: parseCommand(body.startCmd, 'body.startCmd'),
    readyCmd: parseCommand(body.readyCmd, 'body.readyCmd'),
  };
};

/** A step that is forced forces all later ones. */
const countCacheable = ({ force = false, steps = [] }: Body): number | null => {
  if (force) return null;
  const forced = steps.findIndex((step) => step.force === true);
  return forced === -1 ? steps.length : forced;
};

/** Clients send an empty text for none. */
const parseCommand = (text: string | undefined, field: string): string | undefined => {
  if (text?.includes('\0')) throw invalid(`${field} must not contain NUL`);
  return text === '' ? undefined : text;
};

const parseSource = async (body: Body, store: Store): Promise<BuildSource> => {
  const { fromImage, fromTemplate, fromImageRegistry } = body as Partial<Record<keyof Body, unknown>> as {
    fromImage?: string;
    fromTemplate?: string;
    fromImageRegistry?: Registry;
  };
  if (fromImage !== undefined && !defaultImage.test(fromImage)) {
    const credentials = fromImageRegistry && parseCredentials(fromImageRegistry);
    return { kind: 'image', reference: fromImage, credentials };
  }
  if (fromImageRegistry !== undefined)
    throw invalid(
      'body.fromImageRegistry is for an image that is pulled, and this build begins with a template',
    );
  const name = fromTemplate ?? BASE;
  const { build, snapshot } = await requireTemplate(store, name, 'body.fromTemplate');
  if (snapshot !== null)
    throw invalid(`body.fromTemplate: "${name}" is a snapshot, which cannot be built on`);
  return { kind: 'template', name, build };
};

const parseCredentials = (registry: Registry): RegistryCredentials => {
  const { type, username, password } = registry;
  // Without a type, the document says, the fields of AWS apply.
  if (type !== 'registry') throw unsupported(`body.fromImageRegistry.type "${type ?? 'aws'}"`);
  if (username === undefined || password === undefined)
    throw invalid('body.fromImageRegistry must have username and password');
  return { username, password };
};

const VARIABLE = '[A-Za-z_][A-Za-z0-9_]*';
const USER = '[A-Za-z_][A-Za-z0-9_-]{0,31}';
const variableName = new RegExp(`^${VARIABLE}$`);
const userName = new RegExp(`^${USER}$`);

const parseStep = ({ type, args, filesHash }: Step, field: string): BuildStep => {
  const [first, second, ...more] = args;
  const requireFirst = (): string => {
    if (first) return first;
    throw invalid(`${field}.args must have a value`);
  };
  if (args.some((arg) => arg.includes('\0'))) throw invalid(`${field}.args must not contain NUL`);
  switch (type) {
    case 'RUN':
      if (more.length > 0) throw invalid(`${field}.args must be a command and optionally a user`);
      return { type, command: requireFirst(), user: second ? parseUser(second, field) : undefined };
    case 'ENV':
    case 'ARG':
      return { type, variables: parseVariables(args, field) };
    case 'WORKDIR':
      if (second !== undefined) throw invalid(`${field}.args must be one path`);
      return { type, path: requireFirst() };
    case 'USER':
      if (second !== undefined) throw invalid(`${field}.args must be one name`);
      return { type, name: parseUser(requireFirst(), field) };
    case 'COPY':
    case 'ADD':
      return parseCopyStep({ args, filesHash }, field);
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
