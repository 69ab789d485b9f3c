// Bundles the command, the servers and the helper into dist/, beside the built agent and the ready-made templates.
// Packages from the registry stay imports: they are dependencies of the published package.
import { chmodSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const here = import.meta.dirname;
const dist = join(here, 'dist');
const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: {
    start: join(here, 'src/published/start.ts'),
    main: join(here, 'src/main.ts'),
    helper: join(here, 'src/helper/main.ts'),
  },
  platform: 'node',
  external: (id) =>
    id.startsWith('node:') ||
    Object.keys(dependencies).some((name) => id === name || id.startsWith(`${name}/`)),
});
await bundle.write({ dir: dist, format: 'esm', sourcemap: true, chunkFileNames: 'chunk-[hash].js' });
await bundle.close();

cpSync(join(here, '../envd/dist'), join(dist, 'envd'), { recursive: true });
cpSync(join(here, '../../templates'), join(dist, 'templates'), { recursive: true });
for (const program of ['start.js', 'main.js']) chmodSync(join(dist, program), 0o755);
