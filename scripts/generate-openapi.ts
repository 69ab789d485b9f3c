// Usage: node generate-openapi.ts platform|sandbox OUTPUT
// Writes the types of one address space of specs/openapi.yaml, without the components that nothing in it reaches, and beside
// them types.ts, which has a name for each schema.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { parse } from 'yaml';
import { type AddressSpace, splitDocument } from './split-document.ts';

const [space, output] = process.argv.slice(2);
if ((space !== 'platform' && space !== 'sandbox') || !output) {
  console.error('usage: node generate-openapi.ts platform|sandbox OUTPUT');
  process.exit(2);
}
const source = join(dirname(fileURLToPath(import.meta.url)), '../specs/openapi.yaml');
const document = splitDocument(parse(readFileSync(source, 'utf8')), space satisfies AddressSpace);

const blob = ts.factory.createTypeReferenceNode('Blob');
const nodes = await openapiTS(JSON.stringify(document), {
  alphabetize: true,
  defaultNonNullable: false,
  transform: (schema) => (schema.format === 'binary' ? blob : undefined),
});
const head = '// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.\n';
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${head}${astToString(nodes)}`);

const schemas = document.components?.schemas ?? {};
const named = Object.keys(schemas)
  .toSorted()
  .map((name) => {
    if (name in globalThis) throw new Error(`the schema ${name} has the name of a global: name it otherwise`);
    const { description = '' } = schemas[name] as { description?: string };
    const comment = `/** ${description.trim().replaceAll(/\s+/g, ' ').replaceAll('*/', '* /')} */\n`;
    return `${description === '' ? '' : comment}export type ${name} = components['schemas']['${name}'];\n`;
  });
const types = `${head}import type { components } from './schema.ts';\n\n${named.join('\n')}`;
writeFileSync(join(dirname(output), 'types.ts'), types);
