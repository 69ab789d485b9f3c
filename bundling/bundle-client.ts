import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';
import { literalDescriptors } from './workarounds/literal-descriptors.ts';
import { pureEnums } from './workarounds/pure-enums.ts';
import { withoutExtensions } from './workarounds/without-extensions.ts';

interface ClientBundle {
  /** The folder of the package. Its `dist` is made new. */
  root: string;
  /** Name in `dist`, without `.js` → source. */
  input: Record<string, string>;
  /** What stays an import. Default: `openapi-fetch`. */
  dependencies?: readonly string[];
}

/**
 * Bundles a client with the parts of protobuf-es and Connect that it uses: imported from their packages, they would be a fifth
 * larger.
 */
export async function bundleClient({
  root,
  input,
  dependencies = ['openapi-fetch'],
}: ClientBundle): Promise<void> {
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const bundle = await rolldown({
    input,
    cwd: root,
    platform: 'neutral',
    external: (id) => id.startsWith('node:') || dependencies.includes(id),
    plugins: [pureEnums(), withoutExtensions(), literalDescriptors()],
  });
  const { output } = await bundle.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared-[name].js',
  });
  await bundle.close();
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  writeFileSync(join(dist, 'third-party.txt'), toNotices(chunks.flatMap(({ moduleIds }) => moduleIds)));
}

/** The copyright notices of the bundled modules of others, each once. */
function toNotices(modules: string[]): string {
  const notices = new Set<string>();
  for (const module of modules.filter((id) => id.includes('/node_modules/'))) {
    const [notice] = /^(?:\/\/.*\n)+/.exec(readFileSync(module, 'utf8')) ?? [];
    if (notice === undefined) throw new Error(`${module} has no copyright notice`);
    notices.add(notice.replaceAll(/^\/\/ ?/gm, ''));
  }
  return `Parts of these files come from @bufbuild/protobuf and @connectrpc/connect:\n\n${[...notices].join('\n---\n\n')}`;
}
