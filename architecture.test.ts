import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * Package → the workspace packages that it uses, exactly. A new arrow changes the architecture: change ARCHITECTURE.md
 * with it.
 */
const allowed: Record<string, string[]> = {
  'platform-client': [],
  'envd-client': [],
  contract: [],
  blobs: [],
  egress: [],
  images: ['contract'],
  runtime: ['blobs', 'contract'],
  sdk: ['envd-client', 'platform-client'],
  envd: ['contract', 'envd-client'],
  edge: ['contract'],
  platform: ['contract', 'envd-client', 'platform-client', 'runtime'],
  server: ['blobs', 'contract', 'edge', 'egress', 'images', 'platform', 'runtime'],
  cli: ['contract', 'envd', 'images', 'runtime', 'sdk', 'server'],
  testkit: [
    'blobs',
    'contract',
    'edge',
    'envd-client',
    'images',
    'platform',
    'platform-client',
    'runtime',
    'sdk',
  ],
};

/** Imports that are refused, with the reason that the failure prints. */
const refused: { in: RegExp; specifier: RegExp; reason: string }[] = [
  {
    in: /^packages\/(platform|edge|envd|sdk)\/(?!.*\/testing\/)/,
    specifier: /^(node:)?child_process$/,
    reason: 'only the runtime helper and the agent fork',
  },
  {
    in: /^packages\/(sdk\/src\/(?!template\/(build-files|dockerfile)\/)|(platform-client|envd-client)\/src\/)/,
    specifier: /^node:/,
    reason: 'the clients run in every JavaScript runtime; only the files of a template are read from a disk',
  },
  {
    in: /^packages\//,
    specifier: /\/src\//,
    reason: 'no deep imports: a package is used through its exports',
  },
  {
    in: /^packages\/runtime\/src\/(?!drivers\/)/,
    specifier: /\/drivers\/oci\//,
    reason: 'a driver is reached through drivers/index.ts',
  },
  {
    in: /^packages\/runtime\/src\/drivers\/(?!oci\/)/,
    specifier: /\/oci\/(?!index\.ts$)/,
    reason: 'the OCI driver is reached through its index.ts',
  },
  {
    in: /^packages\/runtime\/src\/suite\//,
    specifier: /\/drivers\/(index\.ts|oci\/|memory\/)/,
    reason: 'the suite defines drivers and knows none',
  },
  {
    in: /^packages\/runtime\/(?!src\/remote\/helper\.ts$|.*\/testing\/)/,
    specifier: /^(node:)?child_process$/,
    reason: 'kernel/start-program.ts and kernel/run-command.ts start programs',
  },
  {
    in: /^packages\/(?!testkit\/)/,
    specifier: /^@skerry\/runtime\/testing$/,
    reason: 'parts of tests are for tests',
  },
  {
    in: /^packages\/(cli|server)\/src\/(?!helper\/)/,
    specifier: /^@skerry\/(images\/service|runtime\/helper)$/,
    reason: 'only the helper makes images and sandboxes: the server asks it over its socket',
  },
  {
    in: /^packages\/(cli\/src\/|server\/src\/(?!(nodes|certificates|acme)\/))/,
    specifier: /^@skerry\/runtime\/node(-certificates)?$/,
    reason:
      'one machine needs no TLS of its own: only what makes or orders certificates and the commands of nodes load it',
  },
  {
    in: /^packages\/(?!runtime\/src\/node\/make-certificates\.ts$)/,
    specifier: /^(@peculiar\/x509|reflect-metadata)$/,
    reason: 'only "skerry node cert" makes certificates, and no other command loads the library',
  },
  {
    in: /^packages\/(?!runtime\/|envd\/)/,
    specifier: /^koffi$/,
    reason: 'only the runtime and the agent speak to the kernel',
  },
  {
    in: /^packages\/runtime\/(?!src\/kernel\/native\.ts$)/,
    specifier: /^koffi(\/|$)/,
    reason: 'koffi has to be configured before it loads a library: kernel/native.ts does that',
  },
];
/** Files of the command line that write past `output/print.ts`, each with its reason. */
const unprinted: Record<string, string> = {
  'broken-pipe.ts': 'listens for the end of the reader',
  'commands/image/save.ts': 'writes an archive',
  'commands/sandbox/attached/attach-terminal.ts': 'is a terminal of the sandbox',
  'commands/sandbox/attached/run-attached.ts': 'passes on the output of a program',
  'commands/sandbox/attached/watch-end.ts': 'writes words of its own to a terminal in raw mode',
  'commands/system/prune.ts': 'asks a question of its own',
  'published/start.ts': 'imports nothing that an old Node lacks',
};

/** Where the architecture says otherwise on purpose. */
const exempt = [/^packages\/envd\/src\/process\//, /\.test\.ts$/, /\/src\/testing\//, /build\.ts$/];

const packages = readdirSync('packages');
const sources = readdirSync('packages', { recursive: true, encoding: 'utf8' })
  .map((path) => join('packages', path))
  .filter((path) => /\.ts$/.test(path) && !/node_modules|\/dist\/|\/gen\//.test(path));

/** What is built, measured and published with, which no package contains. */
const tools = ['bench', 'bundling', 'scripts', 'site'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => join(root, path))
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules')),
);

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

/** The files of this repository that a file imports, including type-only imports. */
function filesImportedBy(path: string): string[] {
  return importsOf(path)
    .filter((specifier) => specifier.startsWith('.') && specifier.endsWith('.ts'))
    .map((specifier) => join(dirname(path), specifier));
}

/** The files of one import cycle, in the order of their imports; empty when there is none. */
function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] => {
    const at = trail.indexOf(path);
    if (at >= 0) return [...trail.slice(at), path];
    if (done.has(path)) return [];
    for (const next of imports.get(path) ?? []) {
      const circle = visit(next, [...trail, path]);
      if (circle.length > 0) return circle;
    }
    done.add(path);
    return [];
  };
  for (const path of imports.keys()) {
    const circle = visit(path, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

/**
 * Pairs of neighbouring folders whose files import each other, at any depth below them. Test files and fixtures use what they need.
 */
function findTwoWay(paths: readonly string[]): string[] {
  const arrows = new Set<string>();
  for (const path of paths) {
    if (path.endsWith('.test.ts') || path.includes('/testing/')) continue;
    const from = dirname(path).split('/');
    for (const file of filesImportedBy(path)) {
      const to = dirname(file).split('/');
      const fork = from.findIndex((name, index) => name !== to[index]);
      if (fork < 0 || to.length <= fork || file.includes('/testing/')) continue;
      arrows.add(`${from.slice(0, fork + 1).join('/')} ${to.slice(0, fork + 1).join('/')}`);
    }
  }
  return [...arrows]
    .map((arrow) => arrow.split(' ') as [string, string])
    .filter(([from, to]) => from < to && arrows.has(`${to} ${from}`))
    .map(([from, to]) => `${from} <-> ${to}`)
    .toSorted();
}

function nameOf(folder: string): string {
  return folder === 'cli' ? 'skerry' : `@skerry/${folder}`;
}

describe('architecture', () => {
  it('has exactly the packages of the table', () => {
    expect(packages.toSorted()).toEqual(Object.keys(allowed).toSorted());
  });

  it.each(packages)('%s depends on the packages of the table, and on no other', (folder) => {
    const manifest = JSON.parse(readFileSync(join('packages', folder, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string> | undefined
    >;
    const used = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
      (name) => name === 'skerry' || name.startsWith('@skerry/'),
    );
    expect(used.toSorted()).toEqual((allowed[folder] ?? []).map(nameOf).toSorted());
  });

  it('imports no workspace package that its package.json does not name', () => {
    const wrong = sources.flatMap((path) => {
      const folder = path.split('/')[1] ?? '';
      const may = [nameOf(folder), ...(allowed[folder] ?? []).map(nameOf)];
      return importsOf(path)
        .filter((specifier) => specifier === 'skerry' || specifier.startsWith('@skerry/'))
        .filter((specifier) => !may.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
        .map((specifier) => `${path} imports ${specifier}`);
    });
    expect(wrong).toEqual([]);
  });

  it('loads what serves nodes, or uses them, in the commands for that alone', () => {
    const wrong = sources.filter(
      (path) =>
        /^packages\/server\/src\/(?!nodes\/)/.test(path) &&
        /from '[^']*\/nodes\/[^']*'/.test(readFileSync(path, 'utf8')),
    );
    expect(wrong).toEqual([]);
  });

  it('has none of the refused imports', () => {
    const wrong = sources
      .filter((path) => !exempt.some((pattern) => pattern.test(path)))
      .flatMap((path) =>
        importsOf(path).flatMap((specifier) =>
          refused
            .filter((rule) => rule.in.test(path) && rule.specifier.test(specifier))
            .map((rule) => `${path} imports ${specifier}: ${rule.reason}`),
        ),
      );
    expect(wrong).toEqual([]);
  });

  it('writes to the terminal of a person only what output/print.ts makes printable', () => {
    const root = 'packages/cli/src/';
    const writers = sources.filter(
      (path) =>
        path.startsWith(root) &&
        !/^output\/|\.test\.ts$/.test(path.slice(root.length)) &&
        /\bconsole\.|\bprocess\.(stdout|stderr)\b(?!\.isTTY)|\b(stdout|stderr)\.write\(/.test(
          readFileSync(path, 'utf8'),
        ),
    );
    expect(writers.map((path) => path.slice(root.length)).toSorted()).toEqual(Object.keys(unprinted));
  });

  it('opens at most nine doors of the runtime to other packages', () => {
    const { exports } = JSON.parse(readFileSync('packages/runtime/package.json', 'utf8')) as {
      exports: object;
    };
    expect(Object.keys(exports).length).toBeLessThanOrEqual(9);
  });

  it('has at most 24 files beside tests in a source folder', () => {
    const counts = new Map<string, number>();
    const paths = [...sources.filter((source) => source.includes('/src/')), ...tools];
    for (const path of paths.filter((name) => !name.endsWith('.test.ts'))) {
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > 24)).toEqual([]);
  });

  it('has no two folders that import each other', () => {
    expect(findTwoWay([...sources, ...tools])).toEqual([]);
  });

  it('has no import cycle, type-only imports included', () => {
    expect(findCircle(new Map(sources.map((path) => [path, filesImportedBy(path)])))).toEqual([]);
  });

  it('is compatible with nothing that was never published, until 0.1.0 is', () => {
    const word = ['earlier', 'release'].join(' ');
    expect(sources.filter((path) => readFileSync(path, 'utf8').toLowerCase().includes(word))).toEqual([]);
  });

  it('has no file of more than 400 lines', () => {
    expect(sources.filter((path) => readFileSync(path, 'utf8').split('\n').length > 400)).toEqual([]);
  });
});
