import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
const connection = new Agent({ keepAlive: true, maxSockets: 1 });
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(async () => {
  connection.destroy();
  await agent.stop();
});

/** Calls over the one connection and resolves with the status, once the answer has been read. */
const call = (
  procedure: string,
  type: string,
  body: Buffer,
): Promise<{ status: number; isReused: boolean }> =>
  new Promise((resolve, reject) => {
    const outgoing = request({
      agent: connection,
      socketPath: join(agent.socketDir, 'http.sock'),
      method: 'POST',
      path: `/${procedure}`,
      headers: { 'content-type': type, 'connect-protocol-version': '1' },
    });
    outgoing.setTimeout(60_000, () => outgoing.destroy(new Error('no answer')));
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      response.resume();
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, isReused: outgoing.reusedSocket }),
      );
    });
    for (let at = 0; at < body.length; at += 1000) outgoing.write(body.subarray(at, at + 1000));
    outgoing.end();
  });

it('of a call that failed early does not hold up the next call on the connection', async () => {
  // One message of 4 GiB is announced, which is refused at once; what follows is more than a stream buffers.
  const refused = Buffer.concat([Buffer.from([0, 255, 255, 255, 255]), Buffer.alloc(100_000)]);
  await call('process.Process/StreamInput', 'application/connect+json', refused);
  const next = await call('process.Process/List', 'application/json', Buffer.from('{}'));
  expect(next).toEqual({ status: 200, isReused: true });
});
