import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { damaged } from '../damage.ts';
import { agentHeaders, cuts, type FuzzRequest, framing, toRequest } from '../request.ts';
import { headerText, PLAYGROUND, path, text, toLatin1 } from '../texts.ts';

const boundary = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('b', '----x', "a'()+_,-./:=?") },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' ', 'x'.repeat(70), 'x'.repeat(5000), '"b"', '"b', 'b;c=d', '\xe9'),
  },
);

const filename = fc.oneof(
  path.map((value) => toLatin1(value)),
  headerText,
);

const disposition = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('file', 'file', 'file', 'other', ''), filename)
      .map(([name, file]) => `form-data; name="${name}"; filename="${file}"`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('form-data; name="file"', 'form-data; name=file', 'form-data', 'file', ''),
  },
  { weight: 1, arbitrary: filename.map((name) => `form-data; name=file; filename*=UTF-8''${name}`) },
  { weight: 1, arbitrary: headerText },
);

const partHeader = fc.oneof(
  fc.constantFrom(
    'Content-Type: text/plain',
    'Content-Type: ',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: form-data; name="file"',
    ': x',
    'X',
    ' folded',
  ),
  headerText.map((value) => `X-Part: ${value}`),
);

const part = (mark: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      disposition,
      fc.array(partHeader, { maxLength: 3 }),
      text,
      fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', ''),
    )
    .map(
      ([what, more, content, end]) =>
        `--${mark}\r\nContent-Disposition: ${what}${end}${more.map((line) => `${line}${end}`).join('')}${end}${toLatin1(content)}\r\n`,
    );

const form = (mark: string): fc.Arbitrary<Uint8Array> => {
  const whole = fc
    .tuple(
      fc.constantFrom('', '', '', 'preamble\r\n', '\r\n'),
      fc.array(part(mark), { maxLength: 4 }),
      fc.constantFrom(`--${mark}--\r\n`, `--${mark}--`, `--${mark}`, '', `--${mark}--\r\nepilogue`),
    )
    .map(
      ([before, parts, after]) => Buffer.from(`${before}${parts.join('')}${after}`, 'latin1') as Uint8Array,
    );
  return fc.oneof({ weight: 5, arbitrary: whole }, { weight: 1, arbitrary: damaged(whole) });
};

const encoding = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.constantFrom('gzip', 'GZIP', 'identity', 'br', 'gzip, gzip', '', '\xff') },
);

/** Uploads as forms: boundaries, headers and names of parts, truncation, a compressed body and one that is not. */
export const multipart: fc.Arbitrary<FuzzRequest> = boundary.chain((mark) =>
  fc
    .tuple(
      form(mark),
      fc.constantFrom('', '', `?path=${PLAYGROUND}/form`, '?path=', `?path=${PLAYGROUND}`, '?username=root'),
      fc.constantFrom(
        'multipart/form-data',
        'multipart/form-data',
        'multipart/mixed',
        'Multipart/',
        'multipart/form-data; charset=x',
      ),
      encoding,
      fc.boolean(),
      framing,
      cuts,
    )
    .map(([body, query, type, packed, isPacked, told, where]) =>
      toRequest({
        rule: 'files',
        method: 'POST',
        target: `/files${query}`,
        headers: [
          ...agentHeaders,
          ['Content-Type', `${type}; boundary=${mark}`],
          ...(packed === undefined ? [] : [['Content-Encoding', packed] as const]),
        ],
        body: packed?.toLowerCase() === 'gzip' && isPacked ? gzipSync(body) : body,
        framing: told,
        cuts: where,
      }),
    ),
);
