import { describe, expect, it } from 'vitest';
import { ask, host, id, net, useLoopback } from './loopback-client.ts';

const call = '/process.Process/List';
/** What the server at a port sees of the version, request by request. */
const seenAt = async (port: number, requests: [path: string, version?: string][]): Promise<unknown[]> => {
  const seen: unknown[] = [];
  await net.serve(id, port, (request, response) => {
    seen.push(request.headers['connect-protocol-version']);
    response.end();
  });
  for (const [path, version] of requests) {
    const headers = version === undefined ? {} : { 'Connect-Protocol-Version': version };
    await ask({ host: host(port), ...headers }, { method: 'POST', path });
  }
  return seen;
};

describe('a call without a protocol version', () => {
  describe('where one is required', () => {
    useLoopback();
    it('is forwarded unchanged', async () => {
      expect(await seenAt(49_983, [[call]])).toEqual([undefined]);
    });
  });

  describe('where none is required', () => {
    useLoopback({ requireProtocolVersion: false });
    it('is forwarded with the current version, and other requests are forwarded unchanged', async () => {
      const stat = '/filesystem.Filesystem/Stat?x=1';
      const file = '/files?path=/process.Process/List';
      expect(await seenAt(49_983, [[call], [stat], [call, '2'], [file]])).toEqual(['1', '1', '2', undefined]);
      expect(await seenAt(3000, [[call]])).toEqual([undefined]);
    });
  });
});
