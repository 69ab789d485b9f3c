import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'rolldown';
import { lazyZlib } from './lazy-zlib.ts';
import { literalDescriptors } from './literal-descriptors.ts';

const target = join(import.meta.dirname, 'dist');
// It gets its name when it is whole, so that a server that starts meanwhile never takes half a bundle. Kept out of sight until
// then, on the same file system.
const work = await mkdtemp(join(import.meta.dirname, 'node_modules/.build-'));
const dist = join(work, 'new');
const require = createRequire(import.meta.url);
const addon = './koffi.node';

await build({
  input: join(import.meta.dirname, 'src/main.ts'),
  platform: 'node',
  plugins: [
    literalDescriptors(),
    lazyZlib(),
    {
      name: 'native part only',
      // What the package does around it, five times the work of loading it, is choosing the file.
      resolveId: (id) => (id === 'koffi/indirect' ? { id: addon, external: true } : null),
    },
  ],
  // CommonJS: the loader of ES modules takes longer to start, and reads every export of what is imported from Node.
  output: { dir: dist, format: 'cjs', minify: true, entryFileNames: 'main.js', chunkFileNames: '[name].js' },
});
await writeFile(join(dist, 'package.json'), '{ "type": "commonjs" }\n');

const koffi = dirname(require.resolve('koffi/indirect'));
const native = `linux_${process.arch}/koffi.node`;
await copyFile(join(koffi, '../@koromix', `koffi-linux-${process.arch}`, native), join(dist, addon));
await copyFile(join(koffi, 'LICENSE.txt'), join(dist, 'koffi.LICENSE.txt'));

// Runs the bundle once, so that its code lies there compiled. Node drops what another version of itself has made.
const compiled = join(dist, 'compiled');
const socketDir = await mkdtemp(join(tmpdir(), 'envd-build-'));
await mkdir(compiled);
const load = ['main', 'rpc', 'files', 'spawn-terminal'].map(
  (name) => `require(${JSON.stringify(join(dist, `${name}.js`))});`,
);
// Only what has run is compiled; this much later everything that a start runs has.
execFileSync(process.execPath, ['-e', `${load.join('')}setTimeout(process.exit, 500)`], {
  env: { ENVD_SOCKET_DIR: socketDir, ENVD_PORT: 'off' },
});
await rm(socketDir, { recursive: true });
// Node keeps compiled code to its own user; whoever may read the checkout may start a server from it.
execFileSync('chmod', ['-R', 'a+rX', dist]);

await rename(target, join(work, 'old')).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error;
});
await rename(dist, target);
await rm(work, { recursive: true });
