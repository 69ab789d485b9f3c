// Usage: node generate-document.ts OUTPUT
// Writes specs/openapi.yaml as JSON, which servers read at start in a fraction of the time that YAML takes.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const [output] = process.argv.slice(2);
if (!output) {
  console.error('usage: node generate-document.ts OUTPUT');
  process.exit(2);
}
const source = join(dirname(fileURLToPath(import.meta.url)), '../specs/openapi.yaml');
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${JSON.stringify(parse(readFileSync(source, 'utf8')))}\n`);
