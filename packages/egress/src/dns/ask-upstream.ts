import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { readFrames, toFrame } from './frames.ts';
import { type Answer, readAddressAnswer, writeAddressQuery } from './messages.ts';

/** Asks name servers for the IPv4 addresses of a name. Never rejects: what fails is `SERVFAIL`. */
export type AskUpstream = (name: string) => Promise<Answer>;

/** How long one server may take, in milliseconds. A client of a sandbox usually waits for five seconds. */
const SERVER_TIMEOUT_MS = 2_000;

type Asked = { server: string; port: number; id: number; name: string };

/** Returns a function that asks the servers in turn, over UDP, and over TCP where the answer is longer. */
export const createAskUpstream =
  ({ servers, port = 53 }: { servers: readonly string[]; port?: number }): AskUpstream =>
  async (name) => {
    for (const server of servers) {
      const asked = { server, port, id: randomInt(65_536), name };
      const short = await askOverUdp(asked);
      const answer = short === 'truncated' ? await askOverTcp(asked) : short;
      if (answer !== undefined && answer !== 'truncated' && answer.code !== 'SERVFAIL') return answer;
    }
    return { code: 'SERVFAIL' };
  };

/** Each query has a socket, and so a port, of its own: an answer that is forged has to guess it. */
const askOverUdp = ({ server, port, ...asked }: Asked): Promise<Answer | 'truncated' | undefined> =>
  new Promise((resolve) => {
    const socket = createSocket('udp4');
    const settle = (answer?: Answer | 'truncated'): void => {
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
    // A connected socket takes datagrams from this server alone.
    socket.connect(port, server, () => socket.send(writeAddressQuery(asked.id, asked.name)));
  });

const askOverTcp = ({ server, port, ...asked }: Asked): Promise<Answer | 'truncated' | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host: server, port });
    const settle = (answer?: Answer | 'truncated'): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(settle, SERVER_TIMEOUT_MS);
    socket.on('error', () => settle()).on('close', () => settle());
    readFrames(socket, (message) => settle(readAddressAnswer(message, asked)));
    socket.write(toFrame(writeAddressQuery(asked.id, asked.name)));
  });
