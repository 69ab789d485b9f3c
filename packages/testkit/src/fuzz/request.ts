import fc from 'fast-check';

/** What an answer has to look like. */
export type Rule = 'files' | 'unary' | 'stream' | 'edge' | 'platform' | 'bytes';

/**
 * One input: the bytes of a connection, in pieces that are packets of their own. `{host}`, `{domain}`, `{id}`, `{token}` and
 * `{key}` stand for what differs from run to run, so that an input is the same in all of them.
 */
export interface FuzzRequest {
  readonly rule: Rule;
  /** The call of a Connect service, such as `filesystem.Filesystem/Stat`. */
  readonly procedure?: string;
  readonly isHead: boolean;
  /** Whether the bytes are a whole request, so that an answer is due. */
  readonly isWhole: boolean;
  readonly head: string;
  readonly body: Uint8Array;
  /** Where the bytes are cut into packets. */
  readonly cuts: readonly number[];
}

export interface RequestParts {
  readonly rule: Rule;
  readonly procedure?: string;
  readonly method: string;
  /** Path and query; every character is one byte. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly framing: 'length' | 'chunked' | 'short' | 'open';
  readonly cuts: readonly number[];
}

/** How a request declares the length of its body: rightly in two ways, too long, or as chunks that never end. */
export const framing: fc.Arbitrary<RequestParts['framing']> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<RequestParts['framing']>('length') },
  { weight: 6, arbitrary: fc.constant<RequestParts['framing']>('chunked') },
  { weight: 1, arbitrary: fc.constant<RequestParts['framing']>('short') },
  { weight: 1, arbitrary: fc.constant<RequestParts['framing']>('open') },
);

export const cuts: fc.Arbitrary<number[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<number[]>([]) },
  { weight: 1, arbitrary: fc.array(fc.nat({ max: 600 }), { maxLength: 4 }) },
);

const toChunks = (body: Uint8Array): Buffer => {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += 1000) {
    const piece = body.subarray(at, at + 1000);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), Buffer.from(piece), Buffer.from('\r\n'));
  }
  return Buffer.concat(pieces);
};

/** What HTTP allows in a target and in a header. Anything else is refused by the parser, and the refusal may be lost with the connection. */
const isReadable = (target: string, lines: readonly string[]): boolean =>
  /^[\x21-\x7e]+$/.test(target) && lines.every((line) => /^[\t\x20-\x7e\x80-\xff]*$/.test(line));

/** Writes a request down. Headers and target go out as they are, whatever they hold. */
export const toRequest = (parts: RequestParts): FuzzRequest => {
  const { rule, procedure, method, target, headers, framing: told, cuts: where } = parts;
  const isChunked = told === 'chunked' || told === 'open';
  const length =
    told === 'short' ? `Content-Length: ${parts.body.length + 7}` : `Content-Length: ${parts.body.length}`;
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    isChunked ? 'Transfer-Encoding: chunked' : length,
    'Connection: close',
  ];
  const body = isChunked ? toChunks(parts.body) : parts.body;
  return {
    rule,
    ...(procedure === undefined ? {} : { procedure }),
    isHead: method === 'HEAD',
    isWhole: (told === 'length' || told === 'chunked') && isReadable(target, lines),
    head: `${lines.join('\r\n')}\r\n\r\n`,
    body: told === 'chunked' ? Buffer.concat([body, Buffer.from('0\r\n\r\n')]) : body,
    cuts: where,
  };
};

/** Names the agent of the sandbox, with the right to everything. */
export const agentHeaders: readonly (readonly [string, string])[] = [
  ['Host', '{host}'],
  ['X-Access-Token', '{token}'],
];
