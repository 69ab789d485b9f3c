// The generator behind `npx @skerry/platform-client generate`. Its argument is a `GenerateArguments` as JSON.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { GenerateArguments } from '../arguments.ts';
import { bundleAddressSpace } from '../bundle-document.ts';
import { writeOpenApiTypes } from '../openapi-types.ts';

const { source, out, importExtension } = JSON.parse(process.argv[2] ?? '') as GenerateArguments;
const downloads = mkdtempSync(join(tmpdir(), 'skerry-generate-'));
try {
  const document = await bundleAddressSpace('platform', await toFile(source));
  const head = `// Generated from ${basename(source)} by "npx @skerry/platform-client generate". Do not edit.\n`;
  await writeOpenApiTypes({ document, folder: out, head, importExtension });
  const index = `${head}import { createPlatformClient, type PlatformClient, type PlatformClientOptions } from '@skerry/platform-client';
import type { paths } from './schema.${importExtension}';

export type { components, operations, paths } from './schema.${importExtension}';
export type * from './types.${importExtension}';

/** Creates a client of the server that ${basename(source).replaceAll('*/', '')} describes, with one method per HTTP verb, typed by path. */
export const createClient = (options: PlatformClientOptions): PlatformClient<paths> =>
  createPlatformClient<paths>(options);
`;
  writeFileSync(join(out, 'index.ts'), index);
  console.log(`wrote ${join(out, 'index.ts')}, schema.ts and types.ts`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(downloads, { recursive: true });
}

/** The path of the document, downloaded first when the source is a URL. */
async function toFile(given: string): Promise<string> {
  if (!/^https?:\/\//.test(given)) return resolve(given);
  const answer = await fetch(given);
  if (!answer.ok) throw new Error(`${given} answers with status ${answer.status}`);
  const file = join(downloads, 'openapi.yaml');
  writeFileSync(file, await answer.text());
  return file;
}
