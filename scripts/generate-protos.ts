// Writes the messages and services of specs/*.proto as TypeScript into packages/envd-client/src/gen.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const scripts = dirname(fileURLToPath(import.meta.url));
const template = {
  version: 'v2',
  plugins: [
    {
      local: [join(scripts, 'node_modules/.bin/protoc-gen-es')],
      out: join(scripts, '../packages/envd-client/src/gen'),
      opt: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'],
    },
  ],
};
const result = spawnSync(
  join(scripts, 'node_modules/.bin/buf'),
  ['generate', '--template', JSON.stringify(template)],
  {
    cwd: join(scripts, '../specs'),
    stdio: 'inherit',
  },
);
process.exit(result.status ?? 1);
