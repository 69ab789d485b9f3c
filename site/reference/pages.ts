import { join } from 'node:path';

const repository = join(import.meta.dirname, '../..');

/** Where the pages of the reference are written. */
export const referenceFolder = 'site/generated/reference';

/** Pages of what packages export: the page, and the source of the entry. */
export const packageEntries = [
  { page: 'sdk', source: join(repository, 'packages/sdk/src/index.ts') },
  { page: 'sdk-template', source: join(repository, 'packages/sdk/src/template/index.ts') },
  { page: 'platform-client', source: join(repository, 'packages/platform-client/src/index.ts') },
  { page: 'envd-client', source: join(repository, 'packages/envd-client/src/index.ts') },
];

/**
 * What pages of the repository link to, as it shows there, and the page of the reference that the site has in its place. They are
 * generated, so that the repository has them once.
 */
export const references: ReadonlyMap<string, string> = new Map([
  ['specs/openapi.yaml', 'api'],
  ['specs/process/process.proto', 'process'],
  ['specs/filesystem/filesystem.proto', 'filesystem'],
  ['packages/cli/screens/80', 'commands'],
  ['packages/sdk/surface.api.md', 'sdk'],
  ['packages/sdk/surface-template.api.md', 'sdk-template'],
  ['packages/platform-client/surface.api.md', 'platform-client'],
  ['packages/envd-client/surface.api.md', 'envd-client'],
]);
