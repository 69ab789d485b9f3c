import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'rolldown';

const dist = join(import.meta.dirname, 'dist');
const require = createRequire(import.meta.url);

await rm(dist, { recursive: true, force: true });
await build({
  input: join(import.meta.dirname, 'src/main.ts'),
  platform: 'node',
  // Loads its native part relative to itself, so it travels as the package it is.
  external: [/^koffi(\/|$)/],
  output: { dir: dist, format: 'esm', minify: true, entryFileNames: 'main.js', chunkFileNames: '[name].js' },
});

// Only the parts that run on Linux are taken along: the loader and the native file of this machine's architecture.
const modules = join(dist, 'node_modules');
const koffi = dirname(require.resolve('koffi/indirect'));
for (const path of ['package.json', 'LICENSE.txt', 'indirect.js', 'src/koffi/indirect.js']) {
  await cp(join(koffi, path), join(modules, 'koffi', path));
}
const native = join(koffi, '..', '@koromix', `koffi-linux-${process.arch}`);
for (const path of ['package.json', 'index.js', `linux_${process.arch}`]) {
  await cp(join(native, path), join(modules, '@koromix', `koffi-linux-${process.arch}`, path), {
    recursive: true,
  });
}

// Runs the bundle once, so that its code lies there compiled. Node drops what another version of itself has made.
const compiled = join(dist, 'compiled');
const socketDir = await mkdtemp(join(tmpdir(), 'envd-build-'));
await mkdir(compiled);
const load = ['main', 'rpc', 'files'].map(
  (name) => `await import(${JSON.stringify(join(dist, `${name}.js`))})`,
);
execFileSync(process.execPath, ['--input-type=module', '-e', `${load.join(';')};process.exit()`], {
  env: { ENVD_SOCKET_DIR: socketDir, ENVD_PORT: 'off' },
});
await rm(socketDir, { recursive: true });
