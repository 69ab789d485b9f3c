import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

interface GeneratorBundle {
  /** Folder of the package; the generator becomes its `dist/generate`. */
  root: string;
  /** Folder of its sources below scripts/generate. */
  name: string;
  /** What the generator imports or runs, of the dependencies of this folder. Its users install exactly the versions installed here. */
  needs: string[];
}

const scripts = join(import.meta.dirname, '../scripts');

/** Bundles the command of a client that generates a client for another server: `start.js`, which installs and runs `program/`. */
export async function bundleGenerator({ root, name, needs }: GeneratorBundle): Promise<void> {
  const into = join(root, 'dist/generate');
  rmSync(into, { recursive: true, force: true });
  await bundleProgram(join(scripts, 'generate', name, 'start.ts'), join(into, 'start.js'), []);
  await bundleProgram(
    join(scripts, 'generate', name, 'generate.ts'),
    join(into, 'program/generate.js'),
    needs,
  );
  const dependencies = Object.fromEntries(needs.map((need) => [need, readVersion(need)]));
  const manifest = { private: true, type: 'module', dependencies };
  writeFileSync(join(into, 'program/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

async function bundleProgram(input: string, file: string, needs: string[]): Promise<void> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    external: (id) => id.startsWith('node:') || needs.includes(id),
  });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
}

function readVersion(name: string): string {
  const manifest = readFileSync(join(scripts, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
