import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode } from 'dns-packet';
import { expect, it } from 'vitest';
import { createAskUpstream } from './ask-upstream.ts';

it('answers SERVFAIL when the way to a server is closed', async () => {
  // A socket may not connect to this address, which fails like an address without a route.
  const ask = createAskUpstream({ servers: ['255.255.255.255'] });
  expect(await ask('api.example.com')).toEqual({ code: 'SERVFAIL' });
});

it('asks the next server after one that cannot be reached', async () => {
  const server = createSocket('udp4');
  server.on('message', (message, from) => {
    const { id, questions } = decode(message);
    const answers = [{ type: 'A', name: 'api.example.com', ttl: 30, data: '1.2.3.4' }] as const;
    server.send(encode({ type: 'response', id, questions, answers: [...answers] }), from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const ask = createAskUpstream({ servers: ['255.255.255.255', '127.0.0.1'], port: server.address().port });
  expect(await ask('api.example.com')).toMatchObject({ addresses: ['1.2.3.4'] });
  server.close();
});
