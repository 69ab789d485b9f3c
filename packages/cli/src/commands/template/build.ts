import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { build, Template, type TemplateBuilder } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { Command, Option } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { createProgressLine } from '../../output/progress-line.ts';
import { findDockerCredentials } from '../../registry-credentials/find-credentials.ts';
import { parseCount } from '../parse-count.ts';
import { parseMebibytes } from '../parse-mebibytes.ts';
import { parseEnvironment } from '../parse-pairs.ts';
import { demandedLevelOption } from './demanded-level-option.ts';
import { findReadyMade, readyMadeNames } from './ready-made.ts';
import { showBuild } from './show-build.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  file?: string;
  from?: string;
  readyMade?: string;
  buildArg?: Record<string, string>;
  target?: string;
  platform?: string;
  cpu?: number;
  memory?: number;
  isolation?: IsolationLevel;
  cache: boolean;
  tag?: string[];
  verbose?: boolean;
  json?: boolean;
};

/** `skerry template build [NAME] [CONTEXT]`: prints the name of the template, for `sandbox create`. */
export function buildTemplateCommand(): Command {
  return withConnectionFlags(
    new Command('build')
      .description('build a template from a Dockerfile, a ready-made one, or an image as it is')
      .argument('[name]', 'name of the template, such as web or web:v2 (default: that of --ready-made)')
      .argument('[context]', 'folder whose files may be copied', '.')
      .option('--file <path>', 'the Dockerfile (default: Dockerfile in the folder)')
      .option('--from <image>', 'image of a registry, in place of a Dockerfile')
      .addOption(
        new Option('--ready-made <name>', 'a Dockerfile that comes with skerry').choices(readyMadeNames),
      )
      .option('--build-arg <name=value>', 'value for an ARG, may be repeated', parseEnvironment)
      .option('--target <stage>', 'stage of the Dockerfile, by name or number (default: the last)')
      .option(
        '--platform <os/arch>',
        'what a Dockerfile is read for, linux/amd64 or linux/arm64 (default: this machine)',
      )
      .option('--cpu <count>', 'processors of each sandbox, 1 or an even number (default: 2)', parseCount)
      .option('--memory <MiB>', 'memory of each sandbox (default: 1024)', parseMebibytes)
      .addOption(demandedLevelOption())
      .option('--no-cache', 'run all steps, and upload all files again')
      .option('--tag <tag>', 'another tag, may be repeated', addTag)
      .option('--verbose', 'also show why steps run that were built before, and what ready checks print')
      .option('--json', 'one JSON object a line: each line of the log, then the result'),
  ).action(async (given: string | undefined, context: string, flags: Flags) => {
    const name = given ?? flags.readyMade;
    if (name === undefined) throw new UserError('the template needs a name');
    const template = toTemplate(context, flags);
    const handle = build(template, name, {
      ...(await resolveConnection(flags)),
      context,
      cpuCount: flags.cpu,
      memoryMb: flags.memory,
      isolation: flags.isolation,
      tags: flags.tag,
      force: !flags.cache,
      credentialsFor: (image) => findDockerCredentials(image, { env: process.env, home: homedir() }),
    });
    using line = createProgressLine();
    await showBuild(handle, { json: flags.json ?? false, verbose: flags.verbose ?? false, line });
  });
}

function toTemplate(context: string, { file, from, readyMade, buildArg, ...flags }: Flags): TemplateBuilder {
  const { target, platform } = flags;
  // The user chose the Dockerfile. Docker fetches the URLs of one without asking, too.
  const options = { buildArgs: buildArg, target, platform, fetchUrls: true };
  if (readyMade !== undefined) {
    if (file !== undefined || from !== undefined)
      throw new UserError('--ready-made does not go with --file and --from');
    return Template.fromDockerfile(findReadyMade(readyMade), options);
  }
  if (from !== undefined) {
    if (file !== undefined || buildArg || target !== undefined || platform !== undefined)
      throw new UserError('--from does not go with --file, --build-arg, --target and --platform');
    return Template().fromImage(from);
  }
  const path = file ?? join(context, 'Dockerfile');
  if (!existsSync(path))
    throw new UserError(`no file ${path}: name a Dockerfile with --file, or an image with --from`);
  return Template.fromDockerfile(path, options);
}

const addTag = (tag: string, before: readonly string[] = []): string[] => [...before, tag];
