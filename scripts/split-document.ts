export type AddressSpace = 'platform' | 'sandbox';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface OpenApiDocument {
  paths: Record<string, { servers?: { url: string }[] } & Record<string, unknown>>;
  components?: Record<string, Record<string, unknown>>;
  [key: string]: unknown;
}

/**
 * Returns a copy of the document with the paths of one address space and only the components that they reach.
 * A path without `servers` of its own belongs to the platform; others belong to the spaces of their servers.
 */
export function splitDocument(document: OpenApiDocument, space: AddressSpace): OpenApiDocument {
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([, { servers }]) => spacesOf(servers).includes(space)),
  );
  const reached = reachableComponents(document, paths);
  const components = Object.fromEntries(
    Object.entries(document.components ?? {})
      .map(
        ([kind, entries]) =>
          [
            kind,
            Object.fromEntries(
              Object.entries(entries).filter(
                ([name]) => kind === 'securitySchemes' || reached.has(`${kind}/${name}`),
              ),
            ),
          ] as const,
      )
      .filter(([, entries]) => Object.keys(entries).length > 0),
  );
  return { ...document, paths, components };
}

function spacesOf(servers: { url: string }[] | undefined): AddressSpace[] {
  return servers?.map(({ url }) => (url.includes('{sandboxID}') ? 'sandbox' : 'platform')) ?? ['platform'];
}

function reachableComponents(document: OpenApiDocument, from: unknown): Set<string> {
  const reached = new Set<string>();
  const queue: unknown[] = [from];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (const reference of referencesIn(node as Json)) {
      if (reached.has(reference)) continue;
      reached.add(reference);
      const [kind = '', name = ''] = reference.split('/');
      queue.push(document.components?.[kind]?.[name]);
    }
  }
  return reached;
}

function* referencesIn(node: Json): Generator<string> {
  if (node === null || typeof node !== 'object') return;
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') yield value.replace('#/components/', '');
    else yield* referencesIn(value as Json);
  }
}
