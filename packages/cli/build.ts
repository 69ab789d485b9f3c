// Bundles the command, the servers, the helper, the unpacker and the gateway into dist/, beside the built agent and the ready-made templates.
// The dependencies of the published package stay imports. The others are bundled, with their licenses: a command would otherwise
// read some three hundred files before it begins.
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { toNotices } from './third-party.ts';
import { withoutWebSocket } from './without-web-socket.ts';

const here = import.meta.dirname;
const dist = join(here, 'dist');
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(here, 'package.json'), 'utf8'),
) as Record<'dependencies' | 'peerDependencies', Record<string, string>>;
const installed = Object.keys({ ...dependencies, ...peerDependencies });

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: {
    start: join(here, 'src/published/start.ts'),
    main: join(here, 'src/main.ts'),
    helper: join(here, '../server/src/helper/main.ts'),
    unpacker: join(here, '../server/src/unpacker/main.ts'),
    egress: join(here, '../server/src/egress/main.ts'),
  },
  platform: 'node',
  plugins: [withoutWebSocket],
  external: (id) =>
    (id.startsWith('node:') && id !== 'node:http') ||
    installed.some((name) => id === name || id.startsWith(`${name}/`)),
});
const { output } = await bundle.write({
  dir: dist,
  format: 'esm',
  sourcemap: true,
  chunkFileNames: 'chunk-[hash].js',
});
await bundle.close();

const moduleIds = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
writeFileSync(join(dist, 'THIRD_PARTY_LICENSES.txt'), toNotices(moduleIds));
cpSync(join(here, '../envd/dist'), join(dist, 'envd'), { recursive: true });
cpSync(join(here, '../../templates'), join(dist, 'templates'), { recursive: true });
for (const program of ['start.js', 'main.js']) chmodSync(join(dist, program), 0o755);
