// Usage: node generate-openapi.ts platform|sandbox FOLDER
// Writes the types of one address space of specs/openapi.yaml, without the components that nothing in it reaches.
import { bundleAddressSpace } from './generate/bundle-document.ts';
import { writeOpenApiTypes } from './generate/openapi-types.ts';

const [space, folder] = process.argv.slice(2);
if ((space !== 'platform' && space !== 'sandbox') || !folder) {
  console.error('usage: node generate-openapi.ts platform|sandbox FOLDER');
  process.exit(2);
}
const document = await bundleAddressSpace(space);
for (const name of Object.keys(document.components?.schemas ?? {})) {
  if (name in globalThis) throw new Error(`the schema ${name} has the name of a global: rename it`);
}
const head = '// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.\n';
await writeOpenApiTypes({ document, folder, head, importExtension: 'ts' });
