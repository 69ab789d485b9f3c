#!/usr/bin/env node
import { join } from 'node:path';
import { startGenerator } from '../start-generator.ts';

startGenerator({
  source: 'proto',
  program: join(import.meta.dirname, 'program'),
  usage: `Usage: npx @skerry/envd-client generate --proto FOLDER --out FOLDER [--import-extension js|ts]

Writes the messages and the typed client of the Connect services that .proto files declare.

  --proto FOLDER            folder of the .proto files; its buf.yaml applies
  --out FOLDER              folder of the generated files, such as src/gen
  --import-extension js|ts  how they import each other (default: js, which TypeScript resolves to .ts)
`,
});
