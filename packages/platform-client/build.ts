// Builds dist/: the client with its declarations, the document, and the generator of a client for another server.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleGenerator } from '../../bundling/bundle-generator.ts';

const root = import.meta.dirname;

const { status } = spawnSync('tsc', ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
copyFileSync(join(root, '../../specs/openapi.yaml'), join(root, 'dist/openapi.yaml'));
await bundleGenerator({
  root,
  name: 'platform-client',
  needs: ['@redocly/openapi-core', 'openapi-typescript', 'typescript', 'yaml'],
});
