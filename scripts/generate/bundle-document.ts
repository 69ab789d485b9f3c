import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { bundle, bundleFromString, createConfig } from '@redocly/openapi-core';
import { parse } from 'yaml';

export type AddressSpace = 'platform' | 'sandbox';

interface PathItem {
  servers?: { url: string }[];
  [key: string]: unknown;
}
export interface OpenApiDocument {
  paths: Record<string, PathItem>;
  components?: Record<string, Record<string, unknown>>;
  [key: string]: unknown;
}

/** specs/openapi.yaml of this repository. */
export const ownDocument = join(import.meta.dirname, '../../specs/openapi.yaml');

/** A document, in YAML or JSON, as it is. */
export const readDocument = (source = ownDocument): OpenApiDocument =>
  parse(readFileSync(source, 'utf8')) as OpenApiDocument;

/** specs/openapi.yaml with every `$ref` replaced by what it names. Rejects where one names nothing, or itself. */
export async function dereferenceDocument(): Promise<OpenApiDocument> {
  const document = takeResult(
    await bundle({ ref: ownDocument, config: await createConfig({}), dereference: true }),
  );
  if (JSON.stringify(document).includes('"$ref":'))
    throw new Error('a part of the document refers to itself');
  return document;
}

/**
 * The paths of one address space of a document and the components that they reach. A path without `servers` of its own belongs to
 * the platform; others belong to the spaces of their servers.
 */
export async function bundleAddressSpace(
  space: AddressSpace,
  source = ownDocument,
): Promise<OpenApiDocument> {
  const document = readDocument(source);
  // The bundler takes what a document refers to from another file along, and nothing else of that.
  const paths = Object.entries(document.paths)
    .filter(([, { servers }]) => toSpaces(servers).includes(space))
    .map(([path]) => [path, { $ref: `${basename(source)}#/paths/${escapePointer(path)}` }] as const);
  const root = {
    ...document,
    paths: Object.fromEntries(paths),
    components: { securitySchemes: document.components?.securitySchemes },
  };
  return takeResult(
    await bundleFromString({
      source: JSON.stringify(root),
      absoluteRef: join(dirname(source), `.${space}.json`),
      config: await createConfig({}),
    }),
  );
}

const toSpaces = (servers: { url: string }[] | undefined): AddressSpace[] =>
  servers?.map(({ url }) => (url.includes('{sandboxID}') ? 'sandbox' : 'platform')) ?? ['platform'];

/** RFC 6901 */
const escapePointer = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');

function takeResult({ bundle: { parsed }, problems }: Awaited<ReturnType<typeof bundle>>): OpenApiDocument {
  const [problem] = problems;
  if (problem !== undefined)
    throw new Error(`${problem.location[0]?.pointer ?? 'the document'}: ${problem.message}`);
  return parsed as OpenApiDocument;
}
