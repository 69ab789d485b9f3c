/**
 * Does: Makes the parser of tar-stream keep every byte of the extended attributes in pax headers.
 * Why not the promised way: Its headers contain text that was decoded as UTF-8, and there is no option or event for their bytes. File
 * capabilities such as cap_setuid have bytes that are no UTF-8. No other kept reader of tar archives for Node has them either.
 * Source: https://github.com/mafintosh/tar-stream/blob/v3.2.2/extract.js, `_decodeLongHeader`
 * When it no longer fits: The method is missing, and every parser throws.
 * Test: layer-parser.test.ts
 */
import { type Extract, extract } from 'tar-stream';

interface Internals {
  _header: { type: string };
  _pax: Record<string, string> | null;
  _paxGlobal: Record<string, string> | null;
  _decodeLongHeader: (bytes: Buffer) => void;
}

/** What pax records of extended attributes begin with. */
export const attributePrefix = 'SCHILY.xattr.';

/**
 * The parser of tar-stream, for layers. In the `pax` of its headers each character in the value of a record with `attributePrefix` is one
 * byte; all other text is decoded as UTF-8.
 */
export const createLayerParser = (): Extract => {
  const parser = extract();
  const internals = parser as unknown as Internals;
  const decode = internals._decodeLongHeader.bind(parser);
  internals._decodeLongHeader = (bytes) => {
    decode(bytes);
    const { type } = internals._header;
    const records =
      type === 'pax-header' ? internals._pax : type === 'pax-global-header' ? internals._paxGlobal : null;
    if (records !== null) Object.assign(records, Object.fromEntries(readAttributes(bytes)));
  };
  return parser;
};

const SPACE = 0x20;

/** The records of attributes, with the bounds that the parser sees: `LENGTH KEY=VALUE\n`. */
function* readAttributes(bytes: Buffer): Generator<[key: string, value: string]> {
  for (let rest = bytes; rest.length > 0; ) {
    const start = rest.indexOf(SPACE) + 1;
    const length = Number.parseInt(rest.toString('latin1', 0, start), 10);
    if (!(length > 0)) return;
    const record = rest.subarray(start, length - 1);
    const equals = record.indexOf('=');
    if (equals === -1) return;
    const key = record.toString('utf8', 0, equals);
    if (key.startsWith(attributePrefix)) yield [key, record.toString('latin1', equals + 1)];
    rest = rest.subarray(length);
  }
}
