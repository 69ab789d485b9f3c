// Builds dist/: the client and the messages, bundled with what they use, their declarations, and the generator of a client for
// other services.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundleClient } from '../../bundling/bundle-client.ts';
import { bundleGenerator } from '../../bundling/bundle-generator.ts';

const root = import.meta.dirname;
const messages = ['process/process_pb', 'filesystem/filesystem_pb'].map((name) => `gen/${name}`);

await bundleClient({
  root,
  input: Object.fromEntries(['index', ...messages].map((name) => [name, `src/${name}.ts`])),
});
const { status } = spawnSync('tsc', ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
for (const proto of ['process/process.proto', 'filesystem/filesystem.proto']) {
  copyFileSync(join(root, '../../specs', proto), join(root, 'dist', basename(proto)));
}
await bundleGenerator({ root, name: 'envd-client', needs: ['@bufbuild/buf', '@bufbuild/protoc-gen-es'] });
