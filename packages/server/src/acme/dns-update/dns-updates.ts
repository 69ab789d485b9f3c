import { randomInt } from 'node:crypto';
import { lookup, Resolver } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import { AcmeError } from '../acme-error.ts';
import type { DnsRecords } from '../dns-records.ts';
import { HEADER_BYTES, readResult, toUint16, toUpdate } from './dns-message.ts';
import { isSigned, signMessage } from './tsig.ts';
import type { TsigKey } from './tsig-key.ts';

const ANSWER_MS = 20_000;

/** What a server means by its result (RFC 2136, 2.2), and what helps. */
const refusals: Record<number, string> = {
  1: 'it does not understand updates',
  2: 'it has failed: see its log',
  5: 'the key may not change the zone: allow it to (allow-update, update-policy or acl)',
  9: 'it does not know the key, or the secret, the algorithm or the clock differ',
};

/** Records that a DNS server takes as updates (RFC 2136), over TCP, signed by a key that it knows (TSIG). */
export function createDnsUpdates({
  host,
  port,
  key,
}: {
  host: string;
  port: number;
  key: TsigKey;
}): DnsRecords {
  const server = `${host}:${port}`;
  const change = async (
    action: 'add' | 'remove',
    name: string,
    value: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const address = await toAddress(host);
    const zone = await findZone(name, { address, port, server });
    const message = toUpdate({ id: randomInt(0x10000), zone, action, name, value });
    const { signed, mac } = signMessage(message, key, Date.now());
    const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const answer = await exchange(signed, { address, port, server, signal: within });
    const result = answer.length < HEADER_BYTES ? undefined : readResult(answer);
    if (result !== 0)
      throw new AcmeError(
        `--acme-dns: ${server} refuses the change of ${zone}: ${refusals[result ?? 0] ?? `its result is ${result}`}`,
      );
    if (!isTrusted(answer, { key, requestMac: mac, message }))
      throw new AcmeError(`--acme-dns: the answer of ${server} is not signed by the key ${key.name}`);
  };
  return {
    add: (name, value, signal) => change('add', name, value, signal),
    remove: (name, value, signal) => change('remove', name, value, signal),
  };
}

function isTrusted(
  answer: Buffer,
  { message, ...signing }: { message: Buffer; key: TsigKey; requestMac: Buffer },
): boolean {
  try {
    return answer.readUInt16BE(0) === message.readUInt16BE(0) && isSigned(answer, signing);
  } catch (error) {
    // What is no message has no signature.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

async function toAddress(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (cause) {
    throw new AcmeError(`--acme-dns: ${host} has no address: ${(cause as Error).message}`, { cause });
  }
}

/** The zone of the server that a name is in: the nearest name above with a start of authority. */
async function findZone(
  name: string,
  { address, port, server }: { address: string; port: number; server: string },
): Promise<string> {
  const resolver = new Resolver({ timeout: ANSWER_MS / 4, tries: 2 });
  resolver.setServers([address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`]);
  const labels = name.split('.');
  for (let above = 0; above < labels.length; above += 1) {
    const zone = labels.slice(above).join('.');
    try {
      await resolver.resolveSoa(zone);
      return zone;
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // The name is in a zone that begins further up, or in none of this server.
      if (code === 'ENODATA' || code === 'ENOTFOUND' || code === 'EREFUSED' || code === 'ESERVFAIL') continue;
      throw new AcmeError(`--acme-dns: ${server} does not answer: ${message}`, { cause });
    }
  }
  throw new AcmeError(`--acme-dns: ${server} has no zone that ${name} is in`);
}

/** Sends a message and reads the answer, each with its length before it (RFC 1035, 4.2.2). */
function exchange(
  message: Buffer,
  { address, port, server, signal }: { address: string; port: number; server: string; signal: AbortSignal },
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const fail = (reason: string, cause?: unknown): void =>
    reject(new AcmeError(`--acme-dns: ${server} ${reason}`, { cause }));
  const socket = connect({ host: address, port, signal });
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    const received = Buffer.concat(parts);
    if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
    resolve(received.subarray(2, 2 + received.readUInt16BE(0)));
    socket.destroy();
  });
  socket.once('error', (error) => fail(`does not take the change: ${error.message}`, error));
  socket.once('close', () => fail('ends the connection without an answer'));
  socket.write(Buffer.concat([toUint16(message.length), message]));
  return promise;
}
