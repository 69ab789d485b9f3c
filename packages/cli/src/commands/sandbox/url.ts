import { Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { Command, InvalidArgumentError } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine } from '../../output/print.ts';
import { parseDuration } from '../parse-duration.ts';
import { parsePort } from '../parse-port.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  private?: boolean;
  for?: number;
  json?: boolean;
};

const parseLinkTime = (text: string): number => {
  const seconds = parseDuration(text);
  if (seconds > 86_400) throw new InvalidArgumentError('a link is valid for 24h at most.');
  return seconds;
};

/** `skerry sandbox url ID PORT`: the URL under which a port of the sandbox is reached. */
export function sandboxUrlCommand(): Command {
  return withConnectionFlags(
    new Command('url')
      .description('print the URL of a port of a sandbox')
      .argument('<id>', 'id of the sandbox; a paused one is resumed')
      .argument('<port>', 'port that a program in it listens on', parsePort)
      .option('--private', 'a link that opens a private port in a browser; anyone who has it can')
      .option('--for <time>', 'how long that link is valid, at most 24h (default: 1h)', parseLinkTime)
      .option('--json', 'one JSON object'),
  ).action(async (id: string, port: number, flags: Flags) => {
    if (flags.for !== undefined && !flags.private)
      throw new UserError('--for is the time of a link: give --private too');
    const found = await findReference('sandbox', id, flags);
    const sandbox = await Sandbox.connect(found.id, found.connection);
    if (flags.private && sandbox.trafficAccessToken === undefined)
      throw new UserError('the ports of this sandbox are public: leave out --private');
    const lifetime = flags.for === undefined ? {} : { expiresInMs: flags.for * 1000 };
    const url = flags.private ? await sandbox.getPrivateUrl(port, lifetime) : sandbox.getUrl(port);
    if (flags.json) printJson({ sandboxId: sandbox.sandboxId, port, url });
    else printLine(url);
  });
}
