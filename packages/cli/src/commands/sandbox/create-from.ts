import { NotFoundError, Sandbox, type SandboxOptions, snapshots } from '@skerry/sdk';
import { build, Template, templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { closest, distance } from 'fastest-levenshtein';
import type { Connection } from '../../connection.ts';
import { completeAll } from '../../find-reference.ts';
import { createProgressLine } from '../../output/progress-line.ts';
import { findReadyMade, readyMadeNames } from '../template/ready-made.ts';
import { followBuild } from '../template/show-build.ts';

/** What a create gets: the server, and the template by the name that the user typed. */
export type CreateOptions = SandboxOptions & Connection & { template: string };

/**
 * Creates a sandbox, by `create` if there is one. A ready-made template that the server does not have yet is built first, with its progress on stderr. Rejects
 * with `UserError` for another name that the server does not know, and names the one that was probably meant.
 */
export async function createFrom(
  options: CreateOptions,
  create: (options: CreateOptions) => Promise<Sandbox> = (plain) => Sandbox.create(plain),
): Promise<Sandbox> {
  try {
    return await create(options);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const { template: text, ...connection } = options;
    if (!readyMadeNames.includes(text)) {
      const [template = text] = await completeAll(['template', 'snapshot'], [text], connection);
      if (template === text) throw await toUnknown(error, options);
      return create({ ...options, template });
    }
    await buildReadyMade(options);
    return create(options);
  }
}

async function buildReadyMade({ template, ...connection }: CreateOptions): Promise<void> {
  const handle = build(Template.fromDockerfile(findReadyMade(template)), template, connection);
  using line = createProgressLine();
  line.show({ message: `building the ready-made template ${template}, once` });
  await followBuild(handle, { line });
}

/** More differences than that make another word. */
const MAX_DISTANCE = 2;

async function toUnknown(error: NotFoundError, { template, ...connection }: CreateOptions): Promise<Error> {
  const names = (await templates.list(connection)).flatMap(({ aliases }) => aliases);
  for await (const { names: own } of snapshots.list(connection)) names.push(...own.map(toShortName));
  const meant = closest(template, [...new Set([...names, ...readyMadeNames])]);
  return distance(template, meant) > MAX_DISTANCE
    ? error
    : new UserError(`there is no template "${template}": did you mean "${meant}"?`);
}

/** The name that a user of this server types, without what is the default. */
const toShortName = (name: string): string => name.replace(/^local\//, '').replace(/:default$/, '');
