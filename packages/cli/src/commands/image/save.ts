import { createHash } from 'node:crypto';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { templates } from '@skerry/sdk/template';
import { UserError } from '@skerry/server/user-error';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson } from '../../output/print.ts';
import { createProgressLine } from '../../output/progress-line.ts';
import { writeWhole } from '../../output/write-whole.ts';
import { untilInterrupted } from '../until-interrupted.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { output: string; json?: boolean; quiet?: boolean };

/** `skerry image save NAME -o FILE`: an OCI image layout in a tar archive. */
export function saveImageCommand(): Command {
  return withConnectionFlags(
    new Command('save')
      .description('write a template as an OCI image into a file')
      .argument('<template>', 'name or id of the template, optionally with a tag')
      .requiredOption('-o, --output <file>', 'the archive to write; - writes to stdout')
      .option('--json', 'one JSON object')
      .option('-q, --quiet', 'show no progress'),
  ).action(async (text: string, { output, json, quiet, ...flags }: Flags) => {
    if (output === '-' && process.stdout.isTTY)
      throw new UserError('this would write an archive to a terminal');
    if (output === '-' && json) throw new UserError('--json does not go with -o -');
    const { id: template, connection } = await findReference('template', text, flags);
    using line = createProgressLine();
    const isShown = !json && !quiet;
    if (isShown) line.show({ message: 'packing the image' });
    const hash = createHash('sha256');
    let receivedBytes = 0;
    await untilInterrupted(async (signal) => {
      const { archive, sizeBytes } = await templates.save(template, { ...connection, signal });
      let shownAt = 0;
      const counted = new Transform({
        transform(chunk: Uint8Array, _encoding, done) {
          hash.update(chunk);
          receivedBytes += chunk.length;
          const fraction = receivedBytes / sizeBytes;
          if (isShown && process.stderr.isTTY && (fraction - shownAt > 0.01 || fraction === 1)) {
            shownAt = fraction;
            line.show({ message: `writing ${output}`, fraction });
          }
          done(null, chunk);
        },
      });
      const body = Readable.fromWeb(archive as never);
      if (output === '-') await pipeline(body, counted, process.stdout, { end: false, signal });
      else await writeWhole(output, (into) => pipeline(body, counted, into, { signal }));
    });
    if (!json) return;
    const digest = `sha256:${hash.digest('hex')}`;
    printJson({ template, file: output, sizeBytes: receivedBytes, digest });
  });
}
