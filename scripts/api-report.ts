// Usage, in the folder of a library: node ../../scripts/api-report.ts [ENTRY …] [--check]
// Writes what each entry of the library exports, by default index, to its surface.api.md, so that a change of it is a diff in
// review. The report of another entry has the name of its folder. With --check it fails when one differs. Needs the built
// package.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const folder = process.cwd();
const check = process.argv.includes('--check');
const given = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const entries = given.length > 0 ? given : ['index'];
const reportTempFolder = mkdtempSync(join(tmpdir(), 'skerry-api-'));
const silent = { logLevel: ExtractorLogLevel.None };
const changed = entries.filter(writeReport);
rmSync(reportTempFolder, { recursive: true });
if (changed.length > 0 && check) {
  console.error('surface.api.md differs from what the package exports: commit what "pnpm api" writes');
  process.exit(1);
}

/** Whether the report of the entry has changed. */
function writeReport(entry: string): boolean {
  const declarations = join(folder, 'dist', `${entry}.d.ts`);
  const reportFileName = entry === 'index' ? 'surface.api.md' : `surface-${dirname(entry)}.api.md`;
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: declarations,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            strict: true,
            module: 'nodenext',
            target: 'es2022',
            lib: ['es2022', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
            types: [],
          },
          files: [declarations],
        },
      },
      apiReport: { enabled: true, reportFileName, reportFolder: folder, reportTempFolder },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: { default: silent },
        tsdocMessageReporting: { default: silent },
      },
    },
  });
  const { apiReportChanged, errorCount } = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback: (message) => {
      if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
    },
  });
  if (errorCount > 0) throw new Error('the declarations do not compile');
  return apiReportChanged;
}
