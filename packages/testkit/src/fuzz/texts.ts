import fc from 'fast-check';

/** Text that has broken parsers, interpreters and file systems before. */
const NOTORIOUS = [
  '',
  ' ',
  '.',
  '..',
  '/',
  '//',
  '~',
  '~root',
  '~/',
  '\0',
  'a\0b',
  '%',
  '%00',
  '%2e%2e%2f',
  '%zz',
  '\r\n',
  'a\nb',
  '\u{10ffff}',
  '\ud800',
  '\ufeff',
  'é',
  '__proto__',
  'constructor',
  'toString',
  '-1',
  '0',
  '1e999',
  'NaN',
  'null',
  '"',
  "'",
  '\\',
  '$1',
  'root',
  'user',
] as const;

/** Lengths around the limits of names, paths, header lines and buffers. */
const LENGTHS = [255, 256, 4095, 4096, 16_384, 70_000] as const;

/** Any text at all: short and ordinary, notorious, full of rare characters, or very long. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 4, arbitrary: fc.constantFrom(...NOTORIOUS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom(...LENGTHS).map((length) => 'x'.repeat(length)) },
);

/** Bytes, each of them a character below 256, without those that end a header line. */
export const headerText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: text.map((value) => toLatin1(value).replace(/[\r\n\0]/g, '')) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) =>
      Buffer.from(bytes)
        .toString('latin1')
        .replace(/[\r\n\0]/g, ''),
    ),
  },
);

/** The UTF-8 bytes of a text, each as one character. */
export const toLatin1 = (value: string): string => Buffer.from(value).toString('latin1');

const segment: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', '..', '.', '', 'link', 'loop', 'fifo', 'file') },
  { weight: 1, arbitrary: text },
);

/** A folder that every run fills anew with a file, links, a loop of links and a FIFO. */
export const PLAYGROUND = '/tmp/fuzz';

/** Paths in and around the playground, and text that is none. */
export const path: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(segment, { maxLength: 5 }).map((segments) => [PLAYGROUND, ...segments].join('/')),
  },
  { weight: 2, arbitrary: text },
  { weight: 1, arbitrary: fc.constantFrom(400, 3000).map((depth) => '/a'.repeat(depth)) },
);

/** Paths that are only looked at: also what the kernel makes up. */
export const readPath: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: path },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '/dev/zero',
      '/dev/full',
      '/dev/tty',
      '/dev/stdin',
      '/proc/self/mem',
      '/proc/self/fd/0',
      '/proc/version',
      '/proc/1/root',
      '/proc/self/environ',
      '/sys/kernel',
      '/run/envd/http.sock',
      '/.envd',
    ),
  },
);
