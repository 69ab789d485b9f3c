import { once } from 'node:events';
import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../../connection.ts';
import { findReference } from '../../../find-reference.ts';
import { printJson, printLine } from '../../../output/print.ts';
import { parsePort } from '../../parse-port.ts';
import { createForwarder } from './forwarder.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  local?: number;
  host: string;
  json?: boolean;
};

/** `skerry sandbox port open ID PORT`: serves a port of the sandbox on this machine until it is interrupted. */
export function openPortCommand(): Command {
  return withConnectionFlags(
    new Command('open')
      .description(
        'serve a port of a sandbox on a port of this machine, for HTTP and WebSockets, until Ctrl-C',
      )
      .argument('<id>', 'id of the sandbox; a paused one is resumed')
      .argument('<port>', 'port that a program in it listens on', parsePort)
      .option('--local <port>', 'port of this machine, 0 for a free one (default: the same)', parsePort)
      .option('--host <host>', 'address of this machine to listen on', '127.0.0.1')
      .option('--json', 'one JSON object when it serves'),
  ).action(async (id: string, port: number, flags: Flags) => {
    const { connection, ...found } = await findReference('sandbox', id, flags);
    const sandbox = await Sandbox.connect(found.id, connection);
    const server = createForwarder({
      origin: connection.sandboxUrl ?? sandbox.getUrl(port),
      host: sandbox.getHost(port),
      ...(sandbox.trafficAccessToken === undefined ? {} : { trafficAccessToken: sandbox.trafficAccessToken }),
    });
    server.listen(flags.local ?? port, flags.host);
    await once(server, 'listening');
    const { port: local } = server.address() as { port: number };
    const url = `http://${flags.host}:${local}`;
    if (flags.json) printJson({ sandboxId: sandbox.sandboxId, port, url });
    else printLine(url);
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    server.closeAllConnections();
    server.close();
  });
}
