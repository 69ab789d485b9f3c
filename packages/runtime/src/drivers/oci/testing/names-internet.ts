// Plays the internet for names-lab.ts, in a network namespace of its own: a name server, and servers for TLS and HTTP on all addresses. Prints
// what arrives, one JSON line each.
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer as createWeb } from 'node:http';
import { createServer } from 'node:net';
import { createServer as createTls } from 'node:tls';

const [folder = '', resolver = '', recordsJson = ''] = process.argv.slice(2);
const records = JSON.parse(recordsJson) as Record<string, string[]>;
const report = (what: string): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
const ignore = (): void => undefined;

const answer = (query: Buffer): Buffer => {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const name = labels.join('.');
  report(`dns ${name} ${query.readUInt16BE(at + 1)}`);
  const addresses = records[name];
  const head = Buffer.from(query.subarray(0, at + 5));
  head.writeUInt16BE(addresses ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(addresses?.length ?? 0, 6);
  head.fill(0, 8, 12);
  const toRecord = (address: string): Buffer =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([head, ...(addresses ?? []).map(toRecord)]);
};
const dns = createSocket('udp4').bind(53, resolver);
dns.on('message', (query, from) => dns.send(answer(query), from.port, from.address));

const certificate = { key: readFileSync(`${folder}/key.pem`), cert: readFileSync(`${folder}/cert.pem`) };
createTls(certificate, (socket) => {
  socket.on('error', ignore);
  report(`tls ${socket.servername} at ${socket.localAddress}`);
  socket.write(`tls ${socket.servername} at ${socket.localAddress}`);
  socket.on('data', (data) => report(`data ${data}`));
}).listen(443, '0.0.0.0');
createWeb((request, response) => {
  report(`http ${request.headers.host} at ${request.socket.localAddress}`);
  response.end(`http ${request.headers.host} at ${request.socket.localAddress}`);
}).listen(80, '0.0.0.0');
for (const port of [22, 853, 8443])
  createServer((socket) => {
    report(`tcp ${port} at ${socket.localAddress}`);
    socket.on('error', ignore).end('reached');
  }).listen(port, '0.0.0.0');
for (const [port, address] of [
  [53, '8.8.8.8'],
  [443, '0.0.0.0'],
] as const)
  createSocket('udp4')
    .on('message', () => report(`udp ${port}`))
    .bind(port, address);
setTimeout(() => report('up'), 300);
