// Usage: node main.ts
// Writes the pages of the reference, from specs, help screens and doc comments.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { toCommandPage } from './commands/command-page.ts';
import { toApiPage } from './openapi/api-page.ts';
import type { OpenApiDocument } from './openapi/document.ts';
import { toPackagePages } from './packages/package-pages.ts';
import { packageEntries, referenceFolder } from './pages.ts';
import { toProtoPage } from './proto/proto-page.ts';
import { readProtos } from './proto/read-protos.ts';

const repository = join(import.meta.dirname, '../..');
const folder = join(repository, referenceFolder);
const screens = join(repository, 'packages/cli/screens/80');

const document = parse(readFileSync(join(repository, 'specs/openapi.yaml'), 'utf8')) as OpenApiDocument;
const commands = readdirSync(screens).map((file) => ({
  // A dash of the name of a file is a space of the command: no command has one.
  name: file.replace('.txt', '').replaceAll('-', ' '),
  screen: readFileSync(join(screens, file), 'utf8'),
}));
const pages = new Map([
  ['api', toApiPage(document)],
  ...readProtos(join(repository, 'specs')).map((file) => [basename(file.name), toProtoPage(file)] as const),
  ['commands', toCommandPage(commands.toSorted((a, b) => (a.name < b.name ? -1 : 1)))],
  ...(await toPackagePages(packageEntries)),
]);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of pages) writeFileSync(join(folder, `${name}.md`), text);
