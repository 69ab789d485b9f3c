import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import type { OpenApiDocument } from './bundle-document.ts';

/** How the generated files import each other. */
export type ImportExtension = 'js' | 'ts';

export interface OpenApiTypesOptions {
  document: OpenApiDocument;
  /** Made when it is missing. */
  folder: string;
  /** The first lines of each file. */
  head: string;
  importExtension: ImportExtension;
}

/** Writes `schema.ts`, the types of the operations of a document, and `types.ts`, which has a name for each schema. */
export async function writeOpenApiTypes(options: OpenApiTypesOptions): Promise<void> {
  const { document, folder, head, importExtension } = options;
  const blob = ts.factory.createTypeReferenceNode('Blob');
  const nodes = await openapiTS(JSON.stringify(document), {
    alphabetize: true,
    defaultNonNullable: false,
    transform: (schema) => (schema.format === 'binary' ? blob : undefined),
    silent: true,
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'schema.ts'), `${head}${astToString(nodes)}`);
  const schemas = document.components?.schemas ?? {};
  const named = Object.keys(schemas)
    .toSorted()
    .map((name) => toNamedType(name, schemas[name] as { description?: string }));
  const types = `${head}import type { components } from './schema.${importExtension}';\n\n${named.join('\n')}`;
  writeFileSync(join(folder, 'types.ts'), types);
}

function toNamedType(name: string, { description = '' }: { description?: string }): string {
  const comment = `/** ${description.trim().replaceAll(/\s+/g, ' ').replaceAll('*/', '* /')} */\n`;
  // The name of a schema may contain dots and dashes and begin with a digit.
  const identifier = name.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_');
  return `${description === '' ? '' : comment}export type ${identifier} = components['schemas']['${name}'];\n`;
}
