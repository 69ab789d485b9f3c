#!/usr/bin/env node
import { join } from 'node:path';
import { startGenerator } from '../start-generator.ts';

startGenerator({
  source: 'spec',
  program: join(import.meta.dirname, 'program'),
  usage: `Usage: npx @skerry/platform-client generate --spec FILE --out FOLDER [--import-extension js|ts]

Writes the typed client of the server that an OpenAPI document describes.

  --spec FILE               the document, YAML or JSON, or its URL, such as http://localhost:4000/openapi.yaml
  --out FOLDER              folder of the generated files, such as src/gen
  --import-extension js|ts  how they import each other (default: js, which TypeScript resolves to .ts)
`,
});
