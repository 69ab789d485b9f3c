import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { readFrames, toFrame } from './frames.ts';
import { type Answer, readAddressAnswer, writeAddressQuery } from './messages.ts';

/** Asks name servers for the IPv4 addresses of a name. Never rejects: what fails is `SERVFAIL`. */
export type AskUpstream = (name: string) => Promise<Answer>;

/** How long one server may take, in milliseconds. A client of a sandbox usually waits for five seconds. */
const SERVER_TIMEOUT_MS = 2_000;

interface Asked {
  server: string;
  port: number;
  id: number;
  name: string;
  query: Buffer;
}

type Reply = Answer | 'truncated' | undefined;

/** Returns a function that asks the servers in turn, over UDP, and over TCP where the answer is longer. */
export const createAskUpstream =
  ({ servers, port = 53 }: { servers: readonly string[]; port?: number }): AskUpstream =>
  async (name) => {
    for (const server of servers) {
      const id = randomInt(65_536);
      const answer = await ask({ server, port, id, name, query: writeAddressQuery(id, name) });
      if (answer !== undefined && answer !== 'truncated' && answer.code !== 'SERVFAIL') return answer;
    }
    return { code: 'SERVFAIL' };
  };

const ask = async (asked: Asked): Promise<Reply> => {
  try {
    const short = await askOverUdp(asked);
    return short === 'truncated' ? await askOverTcp(asked) : short;
  } catch {
    // No socket is to be had. The next server may be asked when one is.
    return undefined;
  }
};

/** Each query has a socket, and so a port, of its own: an answer that is forged has to guess it. */
const askOverUdp = ({ server, port, query, ...asked }: Asked): Promise<Reply> =>
  new Promise((resolve) => {
    const socket = createSocket('udp4');
    const settle = (answer?: Reply): void => {
      clearTimeout(timer);
      socket.removeAllListeners().on('error', () => {
        // The answer is settled.
      });
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(settle, SERVER_TIMEOUT_MS);
    socket.on('error', () => settle());
    socket.on('message', (message) => {
      const answer = readAddressAnswer(message, asked);
      if (answer !== undefined) settle(answer);
    });
    // A callback would also be called when there is no way to the server, and the event `error` then not.
    socket.once('connect', () => socket.send(query));
    // A connected socket takes datagrams from this server alone.
    socket.connect(port, server);
  });

const askOverTcp = ({ server, port, query, ...asked }: Asked): Promise<Reply> =>
  new Promise((resolve) => {
    const socket = connect({ host: server, port });
    const settle = (answer?: Reply): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(settle, SERVER_TIMEOUT_MS);
    socket.on('error', () => settle()).on('close', () => settle());
    readFrames(socket, { maxBytes: 65_535 }, (message) => settle(readAddressAnswer(message, asked)));
    socket.write(toFrame(query));
  });
