import fc from 'fast-check';
import { agentHeaders, cuts, type FuzzRequest, framing, toRequest } from '../request.ts';
import { path, readPath, text, toLatin1 } from '../texts.ts';

/** A value of a query: encoded as clients do, twice, not at all, and wrongly. */
const encoded = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: value.map((plain) => encodeBytes(plain)) },
    { weight: 1, arbitrary: value.map((plain) => encodeBytes(encodeBytes(plain))) },
    { weight: 1, arbitrary: value.map((plain) => toLatin1(plain).replace(/[\0-\x20#]/g, '')) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('%ff%fe', '%c3%28', '%', '%4', '%zz', '+', '%2B', '%00', '%u0041', '\xff'),
    },
  );

const encodeBytes = (plain: string): string =>
  Buffer.from(plain)
    .toString('latin1')
    .replace(/[^\w./~-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);

const parameter = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.oneof(
    { weight: 6, arbitrary: encoded(value).map((one) => [`${name}=${one}`]) },
    { weight: 2, arbitrary: fc.constant<string[]>([]) },
    {
      weight: 1,
      arbitrary: fc.array(encoded(value), { maxLength: 3 }).map((all) => all.map((one) => `${name}=${one}`)),
    },
    { weight: 1, arbitrary: fc.constantFrom<string[]>([name], [`${name}[]=x`], [`${name.toUpperCase()}=x`]) },
  );

const username = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('root', 'user', '') },
  { weight: 1, arbitrary: text },
);

const signature = fc.oneof(
  fc.constantFrom('v1_', `v1_${'A'.repeat(43)}`, `v2_${'A'.repeat(43)}`, `v1_${'A'.repeat(43)}=`),
  text,
);
const expiration = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '99999999999999',
    '1e12',
    '1.5',
    '0x10',
    '1'.repeat(400),
    ' 1',
    '9007199254740993',
  ),
  text,
);

const route = (
  method: string,
  parameters: fc.Arbitrary<string[]>[],
  headers: FuzzHeaders,
): fc.Arbitrary<FuzzRequest> =>
  fc
    .tuple(fc.tuple(...parameters), fc.uint8Array({ maxLength: 30 }), framing, cuts)
    .map(([pairs, content, told, where]) =>
      toRequest({
        rule: 'files',
        method,
        target: `/files?${pairs.flat().join('&')}`,
        headers: method === 'POST' ? [...headers, ['Content-Type', 'application/octet-stream']] : headers,
        body: method === 'POST' ? content : new Uint8Array(),
        framing: method === 'POST' ? told : 'length',
        cuts: where,
      }),
    );

type FuzzHeaders = readonly (readonly [string, string])[];

/** Reads and uploads by path and user: climbing, encoded, long and broken paths. */
export const paths: fc.Arbitrary<FuzzRequest> = fc.oneof(
  route('GET', [parameter('path', readPath), parameter('username', username)], agentHeaders),
  route('HEAD', [parameter('path', readPath), parameter('username', username)], agentHeaders),
  route('POST', [parameter('path', path), parameter('username', username)], agentHeaders),
);

const unsigned: FuzzHeaders = [['Host', '{host}']];
const signed = [
  parameter('path', path),
  parameter('username', username),
  parameter('signature', signature),
  parameter('signature_expiration', expiration),
];

/** Reads and uploads that bring a signature instead of a token. None of them is right. */
export const signatures: fc.Arbitrary<FuzzRequest> = fc.oneof(
  route('GET', signed, unsigned),
  route('POST', signed, unsigned),
);
