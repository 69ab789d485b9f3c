// Usage: node generate-document.ts operations|whole OUTPUT
// Writes specs/openapi.yaml as JSON, which servers read in a fraction of the time that YAML takes. "operations": each complete in
// itself, without references to follow and without texts and examples, for validation. "whole": all of it, for callers.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { dereferenceDocument, readDocument } from './generate/bundle-document.ts';

const [part, output] = process.argv.slice(2);
if ((part !== 'operations' && part !== 'whole') || !output) {
  console.error('usage: node generate-document.ts operations|whole OUTPUT');
  process.exit(2);
}
async function toOperations(): Promise<string> {
  const { paths } = await dereferenceDocument();
  return JSON.stringify({ paths }, dropTexts);
}

/** A replacer of JSON.stringify. A property of a body may have the same names, and is an object without a schema beside it. */
function dropTexts(this: unknown, key: string, value: unknown): unknown {
  const isText = (key === 'description' || key === 'summary') && typeof value === 'string';
  const isExample = key === 'examples' && typeof this === 'object' && this !== null && 'schema' in this;
  return isText || isExample ? undefined : value;
}

mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${part === 'whole' ? JSON.stringify(readDocument()) : await toOperations()}\n`);
