import fc from 'fast-check';
import { cuts, type FuzzRequest, framing, toRequest } from '../request.ts';
import { headerText } from '../texts.ts';

type Header = readonly [string, string];

const header = (name: string, ...values: string[]): fc.Arbitrary<Header> =>
  fc
    .oneof({ weight: 3, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: headerText })
    .map((value) => [name, value] as const);

const host = header(
  'Host',
  '{host}',
  '{host}',
  '{host}',
  '{host}:80',
  '{host}.',
  '49983-{id}-more.{domain}',
  '0-{id}.{domain}',
  '65536-{id}.{domain}',
  '80-{id}.{domain}',
  '049983-{id}.{domain}',
  'x-{id}.{domain}',
  '49983-.{domain}',
  '-{id}.{domain}',
  '49983-{id}',
  '49983-inosuch.{domain}',
  'sandbox.{domain}',
  'localhost',
  '127.0.0.1',
  '[::1]',
  '[::1',
  '[',
  '',
  'a..b',
  '49983-{id}.{domain}:x',
  '{host}@other',
  'xn--',
);

const base64 = (value: string): string => `Basic ${btoa(value)}`;

const optional: readonly fc.Arbitrary<Header>[] = [
  header('E2b-Sandbox-Id', '{id}', 'inosuch', 'UPPER', '', '../..'),
  header('E2b-Sandbox-Port', '49983', '1', '0', '65536', '-1', '4e3', '', '49983, 49983'),
  header('X-Access-Token', '{token}', '{token}', '{token}', '', 'wrong', '{token},{token}'),
  header(
    'Range',
    'bytes=0-0',
    'bytes=-1',
    'bytes=5-2',
    'bytes=0-,1-',
    'bytes=99999999999999999999-',
    'lines=1-2',
    'bytes=',
  ),
  header('If-Range', '"x"', 'W/"x"', 'Thu, 01 Jan 1970 00:00:00 GMT', 'yesterday'),
  header('If-None-Match', '*', '"x", W/"y"', '"', ','.repeat(3000)),
  header('If-Match', '*', '"x"', ''),
  header('If-Modified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT', '1e9', '-1', 'Fri, 99 Foo 99999 00:00:00 GMT'),
  header('If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT', 'x'),
  header(
    'Accept-Encoding',
    'gzip',
    'identity;q=0',
    '*;q=0',
    'gzip;q=nan',
    'br, *',
    ';',
    'gzip;'.repeat(500),
    ','.repeat(3000),
  ),
  header('Content-Encoding', 'gzip', 'identity', 'br', 'gzip, gzip', ''),
  header(
    'Authorization',
    base64('user:'),
    base64('root:x'),
    base64('ghost:'),
    base64(':'),
    'Basic',
    'Basic %',
    'Bearer x',
    'basic  dXNlcjo=',
  ),
  header('X-Metadata-a', 'x', '', 'x'.repeat(4097), '\x7f', '\t'),
  header(`X-Metadata-${'k'.repeat(247)}`, 'x'),
  header('X-Metadata-', 'x'),
  header('X-Metadata-__proto__', 'x'),
  header('Connect-Protocol-Version', '1', '1', '1', '2', '', '1, 1'),
  header('Connect-Timeout-Ms', '1000', '0', '-1', '1.5', '99999999999', '1e3', ''),
  header('Connect-Accept-Encoding', 'gzip', 'br', ','),
  header('Connect-Content-Encoding', 'gzip', 'x'),
  header('Keepalive-Ping-Interval', '1', '0', '-1', '1e9', '99999999999999999999'),
  header(
    'Content-Type',
    'application/json',
    'application/json',
    'application/proto',
    'application/octet-stream',
    'application/grpc',
    'text/plain',
    'application/json; charset=utf-16',
    'a/b/c',
    ';',
  ),
  header('Accept', 'application/json', 'text/html', '*/*;q=x'),
  header('User-Agent', 'Mozilla/5.0', 'connect-python'),
  header('Sec-Fetch-Mode', 'navigate', 'cors'),
  header('Origin', 'https://example.org', 'null', '%'),
  header('Access-Control-Request-Method', 'POST', ''),
  header('Expect', '100-continue', '200-ok'),
  header('Upgrade', 'websocket', 'h2c', 'HTTP/2.0', ''),
  header('e2b-traffic-access-token', 'x', ''),
  header('x-skerry-access', 'full {token}', 'full', 'signature x', ''),
  header('X-Forwarded-Host', 'evil.example'),
  header('Cookie', 'a=b', ';'.repeat(5000)),
];

const target = fc.constantFrom(
  ['GET', '/health'],
  ['GET', '/files?path=/etc/hostname'],
  ['HEAD', '/files?path=/etc/hostname'],
  ['POST', '/files?path=/tmp/fuzz/by-header'],
  ['POST', '/filesystem.Filesystem/Stat'],
  ['POST', '/filesystem.Filesystem/Nothing'],
  ['POST', '/process.Process/List'],
  ['GET', '/filesystem.Filesystem/Stat?connect=v1&encoding=json&message={}'],
  ['OPTIONS', '/files'],
  ['GET', '/init'],
  ['POST', '/%69nit'],
  ['POST', '//init/'],
  ['POST', '/x/../freeze'],
  ['PATCH', '/files'],
  ['DELETE', '/'],
) as fc.Arbitrary<[string, string]>;

/** Requests to host names and routes with headers that decide who answers and how. */
export const edgeHeaders: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    host,
    fc.array(fc.oneof(...optional), { maxLength: 6 }),
    target,
    fc.constantFrom('', '', '{"path":"/"}', '{}', '\x1f\x8b\x08'),
    framing,
    cuts,
  )
  .map(([where, others, [method, url], body, told, at]) =>
    toRequest({
      rule: 'edge',
      method,
      target: url,
      headers: [where, ...others],
      body: Buffer.from(body, 'latin1'),
      framing: body === '' ? 'length' : told,
      cuts: at,
    }),
  );
