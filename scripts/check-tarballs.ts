// Packs the libraries that users install, which are built, checks each tarball, and uses it as a user does: alone, in a project outside
// of this workspace, with the program of its README. With a running service (SKERRY_API_URL, SKERRY_API_KEY) the
// program also runs.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const tools = join(root, 'scripts/node_modules/.bin');
const folder = mkdtempSync(join(tmpdir(), 'skerry-tarballs-'));
const { catalog } = parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) as {
  catalog: Record<string, string>;
};

try {
  for (const name of ['platform-client', 'envd-client', 'sdk']) {
    const tarball = pack(name);
    run(join(tools, 'publint'), ['run', tarball, '--strict'], root);
    const specs = ['--exclude-entrypoints', 'openapi.yaml', 'process.proto', 'filesystem.proto'];
    run(
      join(tools, 'attw'),
      [tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji', ...specs],
      root,
    );
    useAlone(name, tarball);
    console.log(`ok   @skerry/${name}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pack(name: string): string {
  const into = join(folder, `${name}-tarball`);
  mkdirSync(into);
  run('pnpm', ['pack', '--pack-destination', into], join(root, 'packages', name));
  const [file = ''] = readdirSync(into);
  return join(into, file);
}

/**
 * Installs one tarball and compiles the README's program without skipping any declaration; then runs it if possible.
 */
function useAlone(name: string, tarball: string): void {
  const project = join(folder, name);
  mkdirSync(project);
  const manifest = {
    private: true,
    type: 'module',
    dependencies: { [`@skerry/${name}`]: `file:${tarball}` },
    devDependencies: { '@types/node': catalog['@types/node'], typescript: catalog.typescript },
  };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    outDir: 'dist',
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['readme.ts'] }));
  const readme = readFileSync(join(root, 'packages', name, 'README.md'), 'utf8');
  const program = /```ts\n(.*?)```/s.exec(readme)?.[1];
  if (!program) throw new Error(`the README of ${name} has no program`);
  writeFileSync(join(project, 'readme.ts'), program);
  run(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--silent'],
    project,
  );
  run(join(project, 'node_modules/.bin/tsc'), ['-p', '.'], project);
  compileWithOldest(project, name);
  if (process.env.SKERRY_API_URL && process.env.SKERRY_API_KEY) run('node', ['dist/readme.js'], project);
  else run('node', ['--input-type=module', '--eval', `await import('@skerry/${name}')`], project);
}

/**
 * The oldest TypeScript that is supported reads the declarations of each entry, without those of a browser, and finds nothing wrong in
 * ours. Of envd-client, the declarations of Connect and of protobuf, by which its messages are typed, want a newer one and `dom`.
 */
function compileWithOldest(project: string, name: string): void {
  const installed = join('node_modules/@skerry', name);
  const { exports } = JSON.parse(readFileSync(join(project, installed, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types?: string }>;
  };
  const declarations = Object.values(exports).flatMap((entry) =>
    typeof entry === 'object' && entry.types !== undefined ? [join(installed, entry.types)] : [],
  );
  if (declarations.length === 0) throw new Error(`@skerry/${name} exports no declarations`);
  const compiler = join(root, 'scripts/node_modules/typescript-oldest/bin/tsc');
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--noEmit'];
  const lib = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022', '--types', 'node'];
  const { status, stdout } = spawnSync('node', [compiler, ...strict, ...lib, ...declarations], {
    cwd: project,
    encoding: 'utf8',
  });
  const found = stdout.split('\n').filter((line) => line.includes('error TS'));
  const isForeign = (line: string): boolean => /^node_modules\/@(bufbuild|connectrpc)\//.test(line);
  const ours = name === 'envd-client' ? found.filter((line) => !isForeign(line)) : found;
  if (ours.length > 0 || (status !== 0 && found.length === 0))
    throw new Error(
      `TypeScript 5.5 does not accept the declarations of @skerry/${name}:\n${ours.join('\n') || stdout}`,
    );
}

function run(program: string, argv: string[], cwd: string): void {
  // npm reads settings of a surrounding pnpm from variables and warns about them.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_')));
  const result = spawnSync(program, argv, { cwd, env, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (result.status === 0) return;
  console.error(`${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`);
  throw new Error(`${program} ${argv.join(' ')} failed in ${cwd}`);
}
