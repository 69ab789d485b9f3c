import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ask, host, id, net, useLoopback } from '../loopback-client.ts';

useLoopback({ ports: { httpsPorts: [8443] } });

/** The key and certificate of a program: self-signed, and for another host name. */
const pem = execFileSync(
  'openssl',
  [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=another.test', '-keyout', '-', '-out', '-'],
  ],
  { stdio: ['ignore', 'pipe', 'ignore'] },
);

let secured: Server;
beforeEach(async () => {
  secured = createServer({ key: pem, cert: pem }, (request, response) => {
    let sizeBytes = 0;
    request.on('data', (piece: Buffer) => {
      sizeBytes += piece.length;
    });
    request.on('end', () => response.end(`${request.headers.host} ${sizeBytes}`));
  });
  secured.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    socket.pipe(socket);
  });
  secured.listen(0, '127.0.0.1');
  await once(secured, 'listening');
});
afterEach(() => {
  secured.closeAllConnections();
  secured.close();
});
/** The ports inside pass their bytes on to the server with TLS. */
const serveSecured = (port: number) =>
  net.serveTcp(id, port, (socket) => {
    const onward = connect((secured.address() as AddressInfo).port, '127.0.0.1');
    for (const each of [socket, onward]) each.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });

it('reaches a program that speaks TLS, whatever its certificate is, on one connection for several requests', async () => {
  await serveSecured(8443);
  const body = 'x'.repeat(1_000_000);
  for (let round = 0; round < 3; round += 1)
    expect(await ask({ host: host(8443) }, { method: 'POST' }, body)).toMatchObject({
      status: 200,
      text: `${host(8443)} 1000000`,
    });
  expect(net.dialled).toHaveLength(1);
});

it('takes upgrades to it', async () => {
  await serveSecured(8443);
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  socket.write(`GET / HTTP/1.1\r\nHost: ${host(8443)}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
  await once(socket, 'data');
  socket.write('echo');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toBe('echo');
  socket.destroy();
});

it('speaks TLS to no other port', async () => {
  await net.serve(id, 8000, (_request, response) => response.end('plain'));
  expect(await ask({ host: host(8000) })).toMatchObject({ status: 200, text: 'plain' });
});

it('answers 502 when the program speaks no TLS, and when none listens', async () => {
  await net.serve(id, 8443, (_request, response) => response.end('plain'));
  expect(await ask({ host: host(8443) })).toMatchObject({ status: 502 });
  net.start(id);
  expect((await ask({ host: host(8443) })).text).toContain('port is not open');
});
