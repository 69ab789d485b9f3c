import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'rolldown';
import { literalDescriptors } from '../../bundling/workarounds/literal-descriptors.ts';
import { useAgent } from './use-agent.ts';
import { copyKoffi, nativeKoffi } from './workarounds/native-koffi.ts';

const target = join(import.meta.dirname, 'dist');
// The bundle gets its name when it is whole, so that a server that starts meanwhile never takes half of it. Kept out of sight until
// then, on the same file system.
const work = await mkdtemp(join(import.meta.dirname, 'node_modules/.build-'));
const dist = join(work, 'new');

const { output: chunks } = await build({
  input: { agent: join(import.meta.dirname, 'src/main.ts') },
  platform: 'node',
  write: false,
  plugins: [literalDescriptors(), nativeKoffi()],
  // CommonJS: the loader of ES modules takes longer to start, and reads every export of what is imported from Node.
  output: { format: 'cjs', minify: true, entryFileNames: '[name].js', chunkFileNames: '[name].js' },
});
await build({
  input: { main: join(import.meta.dirname, 'src/workarounds/boot.ts') },
  platform: 'node',
  output: { dir: dist, format: 'cjs', minify: true, entryFileNames: '[name].js' },
});
for (const chunk of chunks) {
  if (chunk.type !== 'chunk') throw new Error(`the bundle has a file ${chunk.fileName}`);
  // `src/workarounds/boot.ts` loads this form.
  await writeFile(join(dist, chunk.fileName), `(function (exports, require, __dirname) {${chunk.code}\n})`);
}
await writeFile(join(dist, 'package.json'), '{ "type": "commonjs" }\n');

await copyKoffi(dist);

// Runs the bundle once, so that its code lies there compiled: only what has run is, and a first call would compile the rest again in
// every sandbox.
const compiled = join(dist, 'compiled');
const socketDir = await mkdtemp(join(tmpdir(), 'envd-build-'));
await mkdir(compiled);
const script = `const { scripts } = require(${JSON.stringify(join(dist, 'main.js'))});
  process.stdin.resume().on('end', () => {
    for (const [name, script] of scripts)
      fs.writeFileSync(path.join(${JSON.stringify(compiled)}, name), script.createCachedData());
    process.exit(0);
  });`;
const agent = spawn(process.execPath, ['-e', script], {
  env: { ENVD_SOCKET_DIR: socketDir, ENVD_PORT: '0' },
  stdio: ['pipe', 'inherit', 'inherit'],
});
const exited = once(agent, 'exit');
try {
  await useAgent(socketDir);
  agent.stdin.end();
  const [code, signal] = await exited;
  if (code !== 0) throw new Error(`the agent ended with ${code ?? signal}`);
} finally {
  agent.kill('SIGKILL');
  await rm(socketDir, { recursive: true });
}
// A user who may read the checkout may start a server from it, whatever the umask of this process is.
execFileSync('chmod', ['-R', 'a+rX', dist]);

await rename(target, join(work, 'old')).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error;
});
await rename(dist, target);
await rm(work, { recursive: true });
