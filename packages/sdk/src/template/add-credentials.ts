import type { RegistryCredentials, StageDefinition, TemplateDefinition } from './definition.ts';

/** Finds the credentials for the registry of an image; undefined: none are sent. */
export type CredentialsFor = (
  image: string,
) => Promise<RegistryCredentials | undefined> | RegistryCredentials | undefined;

/**
 * The definition in which images without credentials have those that `credentialsFor` returns. It is called once for each
 * image, one at a time, and what it throws is thrown.
 *
 * @internal
 */
export async function addCredentials(
  definition: TemplateDefinition,
  credentialsFor: CredentialsFor | undefined,
): Promise<TemplateDefinition> {
  if (credentialsFor === undefined) return definition;
  const found = new Map<string, RegistryCredentials | undefined>();
  const add = async <T extends StageDefinition>(stage: T): Promise<T> => {
    const { source } = stage;
    if (source.kind !== 'image' || source.credentials !== undefined) return stage;
    const { image } = source;
    if (!found.has(image)) found.set(image, await credentialsFor(image));
    return { ...stage, source: { ...source, credentials: found.get(image) } };
  };
  const stages: StageDefinition[] = [];
  for (const stage of definition.stages ?? []) stages.push(await add(stage));
  return { ...(await add(definition)), ...(definition.stages && { stages }) };
}
