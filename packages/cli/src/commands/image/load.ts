import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { create } from 'tar';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { createProgressLine } from '../../output/progress-line.ts';
import { parseCount } from '../parse-count.ts';
import { parseMebibytes } from '../parse-mebibytes.ts';
import { demandedLevelOption } from '../template/demanded-level-option.ts';
import { showBuild } from '../template/show-build.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  name: string;
  image?: string;
  cpu?: number;
  memory?: number;
  isolation?: IsolationLevel;
  tag?: string[];
  json?: boolean;
  quiet?: boolean;
};

/** `skerry image load FILE`: prints the name of the template, for `sandbox create`. */
export function loadImageCommand(): Command {
  return withConnectionFlags(
    new Command('load')
      .description('make a template from an image in a file, without a registry')
      .argument(
        '<file>',
        'archive or folder of an OCI image layout, or archive of "docker save", plain, gzip or zstd; - reads stdin',
      )
      .requiredOption('--name <name>', 'name of the template, such as web or web:v2')
      .option('--image <name>', 'name or digest of an image in an archive of several')
      .option('--cpu <count>', 'processors of each sandbox, 1 or an even number (default: 2)', parseCount)
      .option('--memory <MiB>', 'memory of each sandbox (default: 1024)', parseMebibytes)
      .addOption(demandedLevelOption())
      .option('--tag <tag>', 'another tag, may be repeated', addTag)
      .option('--json', 'one JSON object a line: each line of the log, then the result')
      .option('-q, --quiet', 'print the name only'),
  ).action(async (file: string, flags: Flags) => {
    const connection = await resolveConnection(flags);
    using line = createProgressLine();
    if (!flags.json && !flags.quiet) line.show({ message: 'sending the archive' });
    const handle = templates.load(flags.name, await openArchive(file), {
      ...connection,
      image: flags.image,
      cpuCount: flags.cpu,
      memoryMb: flags.memory,
      isolation: flags.isolation,
      tags: flags.tag,
    });
    await showBuild(handle, { json: flags.json ?? false, quiet: flags.quiet ?? false, line });
  });
}

/** Nothing is read before it is sent. */
async function openArchive(file: string): Promise<Blob | ReadableStream<Uint8Array>> {
  if (file === '-') return toWeb(process.stdin);
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new UserError(`no file ${file}`) : error;
  });
  if (!found.isDirectory()) return openAsBlob(file);
  return toWeb(Readable.from(create({ cwd: file, portable: true, follow: true }, ['.'])));
}

const toWeb = (stream: Readable): ReadableStream<Uint8Array> =>
  Readable.toWeb(stream) as ReadableStream<Uint8Array>;

const addTag = (tag: string, before: readonly string[] = []): string[] => [...before, tag];
