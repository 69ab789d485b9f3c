// Builds dist/: bundles with both clients inside, and the declarations that the public entries reach.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundleClient } from '../../bundling/bundle-client.ts';

const root = import.meta.dirname;
const dist = join(root, 'dist');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

await bundleClient({
  root,
  input: { index: 'src/index.ts', template: 'src/template/index.ts' },
  dependencies: Object.keys(dependencies),
});
run('tsc', ['-p', join(root, 'tsconfig.build.json')]);

const reached = new Set<string>();
const entries = ['index.d.ts', 'template/index.d.ts'].map((path) => join(dist, path));
for (const entry of entries) keepDeclarations(entry);
for (const file of globSync('**/*.d.ts', { cwd: dist })) {
  if (!reached.has(join(dist, file))) rmSync(join(dist, file));
}

// Declarations are checked the way a strict user's compiler does it, without what this repository has around them.
const strict = ['--strict', '--noEmit', '--skipLibCheck', 'false', '--types', '', '--module', 'nodenext'];
const lib = ['--target', 'es2022', '--lib', 'es2022,esnext.disposable,dom,dom.iterable,dom.asynciterable'];
run('tsc', ['--ignoreConfig', ...strict, ...lib, ...entries]);

function run(command: string, args: string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** Follows relative imports, and refuses any of a package that an installed tarball would not find. */
function keepDeclarations(file: string): void {
  if (reached.has(file)) return;
  reached.add(file);
  const text = readFileSync(file, 'utf8').replace(/(from|import\()(\s*)'(\.[^']*)\.ts'/g, "$1$2'$3.js'");
  writeFileSync(file, text);
  for (const [, specifier = ''] of text.matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)) {
    if (specifier.startsWith('.')) {
      const target = resolve(dirname(file), specifier.replace(/\.js$/, '.d.ts'));
      if (!existsSync(target)) throw new Error(`${file} refers to ${specifier}, which is missing`);
      keepDeclarations(target);
    } else if (
      !Object.keys(dependencies).some((name) => specifier === name || specifier.startsWith(`${name}/`))
    ) {
      throw new Error(`${file} refers to ${specifier}, which is not a dependency of the package`);
    }
  }
}
