import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode } from 'dns-packet';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { toFrame } from './frames.ts';
import { type Answer, MAX_QUERY_BYTES, writeAddressQuery } from './messages.ts';
import { MAX_RUNNING } from './query-limit.ts';
import { serveDns } from './serve-dns.ts';

const local = '127.0.0.1';
let answer: (name: string) => Promise<Answer>;
let asked: string[];
let server: { close(): void };
let port: number;
let sockets: Socket[];

const open = async (address: string): Promise<Socket> => {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.bind(0, address);
  await once(socket, 'listening');
  return socket;
};
const query = (name: string): Buffer => writeAddressQuery(7, name);
const nextAnswer = async (socket: Socket) => decode((await once(socket, 'message'))[0] as Buffer);

beforeEach(async () => {
  asked = [];
  sockets = [];
  answer = async () => ({ code: 'NOERROR', addresses: ['1.2.3.4'], ttlSeconds: 30 });
  const free = await open(local);
  port = free.address().port;
  free.close();
  sockets = [];
  server = await serveDns({
    ...{ host: local, port, guest: local },
    resolver: () => ({
      answer: ({ name }) => {
        asked.push(name);
        return answer(name);
      },
      leadsTo: async () => false,
    }),
  });
});
afterEach(() => {
  server.close();
  for (const socket of sockets) socket.close();
});

it('answers the sandbox alone', async () => {
  const [guest, other] = [await open(local), await open('127.0.0.2')];
  other.send(query('other.example'), port, local);
  const refused = connect({ port, host: local, localAddress: '127.0.0.2' });
  const [error] = await once(refused, 'error');
  expect(error.code).toBe('ECONNRESET');
  guest.send(query('api.example.com'), port, local);
  expect(await nextAnswer(guest)).toMatchObject({ rcode: 'NOERROR', answers: [{ data: '1.2.3.4' }] });
  expect(asked).toEqual(['api.example.com']);
});

it('asks for a bounded number of names at a time, and drops the other queries', async () => {
  let finish: (() => void) | undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  answer = async () => {
    await finished;
    return { code: 'NXDOMAIN' };
  };
  const guest = await open(local);
  let answers = 0;
  guest.on('message', () => answers++);
  for (let index = 0; index < MAX_RUNNING + 40; index++) guest.send(query(`n${index}.example`), port, local);
  while (asked.length < MAX_RUNNING) await sleep(1);
  await sleep(50);
  expect(asked).toHaveLength(MAX_RUNNING);
  finish?.();
  while (answers < MAX_RUNNING) await once(guest, 'message');
  guest.send(query('later.example'), port, local);
  expect(await nextAnswer(guest)).toMatchObject({ questions: [{ name: 'later.example' }] });
});

it('answers the next query after one whose answer failed', async () => {
  const guest = await open(local);
  answer = async (name) => {
    if (name === 'bad.example') throw new Error('failed');
    return { code: 'NXDOMAIN' };
  };
  guest.send(query('bad.example'), port, local);
  guest.send(query('good.example'), port, local);
  expect(await nextAnswer(guest)).toMatchObject({ questions: [{ name: 'good.example' }] });
});

it('ends a connection whose query is too long before it has arrived', async () => {
  const socket = connect({ port, host: local });
  socket.write(toFrame(query('api.example.com')));
  const [reply] = await once(socket, 'data');
  expect(decode((reply as Buffer).subarray(2))).toMatchObject({ answers: [{ data: '1.2.3.4' }] });
  socket.write(toFrame(Buffer.alloc(MAX_QUERY_BYTES + 1)).subarray(0, 2));
  await once(socket, 'close');
});
