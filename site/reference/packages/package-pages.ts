import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Application, OptionDefaults } from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';

export interface PackageEntry {
  /** The name of its page, which is also that of the package without `@skerry/`. A dash stands for a slash. */
  page: string;
  /** Path of its source. */
  source: string;
}

/**
 * The pages of what entries of packages export, from their doc comments, by name. A page links to another as `NAME.md` beside it.
 * Rejects when typedoc reports an error, and when a comment links to something that has no page.
 */
export async function toPackagePages(entries: readonly PackageEntry[]): Promise<Map<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-reference-'));
  try {
    const application = await Application.bootstrapWithPlugins({
      ...markdown,
      out: folder,
      entryPoints: entries.map(({ source }) => source),
      tsconfig: join(import.meta.dirname, 'tsconfig.json'),
      plugin: ['typedoc-plugin-markdown'],
      readme: 'none',
      // The compiler that typedoc needs is older than that of the sources; `pnpm check` compiles them with theirs.
      skipErrorChecking: true,
      excludePrivate: true,
      excludeInternal: true,
      // What is generated from the specs has pages of its own.
      externalPattern: ['**/node_modules/**', '**/src/gen/**'],
      excludeExternals: true,
      blockTags: [...OptionDefaults.blockTags, '@generated'],
      disableSources: true,
      disableGit: true,
      githubPages: false,
      sort: ['source-order'],
      validation: { notExported: false, invalidLink: true, rewrittenLink: true, notDocumented: false },
      treatWarningsAsErrors: true,
      logLevel: 'Warn',
    });
    const project = await application.convert();
    if (project === undefined) throw new Error('typedoc cannot read the packages');
    for (const entry of project.children ?? []) {
      const source = project.getSymbolIdFromReflection(entry)?.fileName;
      entry.name = entries.find((known) => known.source === source)?.page ?? entry.name;
    }
    await application.generateOutputs(project);
    if (application.logger.hasErrors() || application.logger.hasWarnings())
      throw new Error('typedoc reports errors of the packages');
    return new Map(entries.map(({ page }) => [page, readFileSync(join(folder, `${page}.md`), 'utf8')]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const markdown: Partial<PluginOptions> = {
  outputFileStrategy: 'modules',
  pageTitleTemplates: { module: ({ name }) => `@skerry/${name.replace('-template', '/template')}` },
  hideBreadcrumbs: true,
  hidePageHeader: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  useCodeBlocks: true,
  sanitizeComments: true,
};
