import fc from 'fast-check';
import type { FuzzRequest } from '../request.ts';
import { headerText } from '../texts.ts';

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('GET /health HTTP/1.1', 'POST /files?path=/tmp/fuzz/raw HTTP/1.1'),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'HEAD', 'get', 'PRI', 'CONNECT', 'TRACE', 'M-SEARCH', 'GE T', ''),
        fc.constantFrom(
          '/health',
          '/',
          '*',
          'http://{host}/health',
          '{host}:80',
          '/\xff',
          '/a b',
          '/health#x',
          `/${'x'.repeat(9000)}`,
        ),
        fc.constantFrom(
          'HTTP/1.1',
          'HTTP/1.1',
          'HTTP/1.0',
          'HTTP/0.9',
          'HTTP/2.0',
          'HTTP/1.2',
          'http/1.1',
          'ICY',
          '',
        ),
      )
      .map((words) => words.join(' ')),
  },
  { weight: 1, arbitrary: headerText },
);

const field = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'Host: {host}',
      'Host: {host}',
      'Host: {host}',
      'Host: other',
      'Host : {host}',
      ' Host: {host}',
      'Content-Length: 5',
      'Content-Length: 0',
      'Content-Length: -1',
      'Content-Length: 5, 5',
      'Content-Length: 5, 6',
      'Content-Length: 99999999999999999999',
      'Content-Length: 0x5',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: chunked, chunked',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: \x0bchunked',
      'Transfer-Encoding : chunked',
      'Connection: close',
      'Connection: keep-alive, Host',
      'Connection: upgrade',
      'Upgrade: websocket',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
      'Sec-WebSocket-Key: x',
      'Expect: 100-continue',
      'X: a\r\n folded',
      'X\0: a',
      ': nameless',
      'nothing',
      'TE: trailers',
      'Trailer: X',
    ),
  },
  { weight: 1, arbitrary: headerText.map((value) => `X-Any: ${value}`) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(200, 3000)
      .map((count) => Array.from({ length: count }, (_, at) => `X-${at}: y`).join('\r\n')),
  },
);

const usual = fc.oneof(
  { weight: 6, arbitrary: fc.constant(['Host: {host}', 'X-Access-Token: {token}']) },
  { weight: 1, arbitrary: fc.constant<string[]>([]) },
);

const fields = fc.oneof(
  { weight: 1, arbitrary: fc.constant<string[]>([]) },
  { weight: 2, arbitrary: fc.array(field, { minLength: 1, maxLength: 3 }) },
);

const content = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  fc.constantFrom(
    '',
    'hello',
    '5\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\nX: y\r\n\r\n',
    '5;ext="x"\r\nhello\r\n0\r\n\r\n',
    '5\nhello\n0\n\n',
    'zz\r\n',
    '-5\r\nhello\r\n',
    'fffffffffffffffff\r\n',
    '00000000000000000000005\r\nhello\r\n0\r\n\r\n',
    '5\r\nhelloX\r\n0\r\n\r\n',
    '0\r\n\r\nGET /health HTTP/1.1\r\nHost: {host}\r\n\r\n',
    `5${';x'.repeat(9000)}\r\nhello\r\n0\r\n\r\n`,
  ),
  headerText,
);

const eol = fc.oneof(
  { weight: 12, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n') },
);

const message = fc
  .tuple(line, usual, fields, eol, content)
  .map(([first, host, fields, end, rest]) => `${[first, ...host, ...fields].join(end)}${end}${end}${rest}`);

/** The preface of HTTP/2, followed by frames that may be any. */
const prefaced = fc
  .uint8Array({ maxLength: 80 })
  .map((frames) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${Buffer.from(frames).toString('latin1')}`);

const stream = fc.oneof(
  { weight: 10, arbitrary: message },
  { weight: 3, arbitrary: fc.array(message, { minLength: 2, maxLength: 5 }).map((all) => all.join('')) },
  { weight: 1, arbitrary: prefaced },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'SSH-2.0-x\r\n',
      '\0'.repeat(100),
      '\r\n\r\n\r\n',
    ),
  },
);

/** Bytes as they come: request lines, headers, chunks, pipelines, other protocols, cut anywhere. */
export const rawBytes: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    stream,
    fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    fc.array(fc.nat({ max: 400 }), { maxLength: 8 }),
    fc.nat({ max: 1000 }),
  )
  .map(([text, isCut, cuts, keepPermille]) => ({
    rule: 'bytes',
    isHead: text.startsWith('HEAD '),
    isWhole: false,
    head: isCut ? text.slice(0, Math.floor((text.length * keepPermille) / 1000)) : text,
    body: new Uint8Array(),
    cuts,
  }));
