/**
 * Program: tar-stream
 * Does: Makes the parser of tar-stream keep every byte of the extended attributes in pax headers, and refuse long headers about other
 * entries and bytes behind the end of an archive.
 * Why not the promised way: Its headers contain text that was decoded as UTF-8, and there is no option or event for their bytes. File
 * capabilities such as cap_setuid have bytes that are no UTF-8. It reads headers of 4 MiB, merges the keys of a global one into those
 * of each entry, and goes on behind the end; there is no option or event for those either. No other kept reader of tar archives for Node
 * has them.
 * Source: https://github.com/mafintosh/tar-stream/blob/v3.2.2/extract.js, `_decodeLongHeader` and `_consumeHeader`
 * When it no longer fits: A method is missing, and every parser throws.
 * Test: layer-parser.test.ts
 */
import { type Extract, extract } from 'tar-stream';
import { ImageError } from '../../../image-error.ts';

interface Internals {
  /** Null after a block of zeros. */
  _header: { type: string; size: number } | null;
  _pax: Record<string, string> | null;
  _paxGlobal: Record<string, string> | null;
  _decodeLongHeader: (bytes: Buffer) => void;
  /** Whether to go on. */
  _consumeHeader: () => boolean;
}

/** In bytes. A name of the kernel has 4,096, an attribute 64 KiB, and a file with many holes a long list of them. */
const longestHeaders: Readonly<Record<string, number>> = {
  'gnu-long-path': 8 << 10,
  'gnu-long-link-path': 8 << 10,
  'pax-header': 2 << 20,
  // Applies to each entry that follows.
  'pax-global-header': 4 << 10,
};

/** How many blocks of zeros an archive may have: two end it, and tools fill their last record, of at most 1 MiB. */
const MAX_ZERO_BLOCKS = 2 + 2 ** 20 / 512;

/** What pax records of extended attributes begin with. */
export const attributePrefix = 'SCHILY.xattr.';

/**
 * The parser of tar-stream, for layers. It fails with `corrupt` for a long header and for bytes behind the archive. In the `pax` of its
 * headers each character in the value of a record with `attributePrefix` is one byte; all other text is decoded as UTF-8.
 */
export const createLayerParser = (): Extract => {
  const parser = extract();
  const internals = parser as unknown as Internals;
  const decode = internals._decodeLongHeader.bind(parser);
  internals._decodeLongHeader = (bytes) => {
    decode(bytes);
    const type = internals._header?.type;
    const records =
      type === 'pax-header' ? internals._pax : type === 'pax-global-header' ? internals._paxGlobal : null;
    if (records !== null) Object.assign(records, Object.fromEntries(readAttributes(bytes)));
  };
  const consume = internals._consumeHeader.bind(parser);
  let zeroBlocks = 0;
  internals._consumeHeader = () => {
    const goesOn = consume();
    const failure = goesOn ? refuse(internals._header) : undefined;
    if (failure === undefined) return goesOn;
    parser.destroy(new ImageError('corrupt', failure));
    return false;
  };
  const refuse = (header: Internals['_header']): string | undefined => {
    if (header === null) {
      zeroBlocks += 1;
      return zeroBlocks > MAX_ZERO_BLOCKS ? 'a layer goes on behind its end' : undefined;
    }
    const { [header.type]: longest } = longestHeaders;
    if (longest === undefined || header.size <= longest) return undefined;
    return `a layer has a ${header.type} of ${header.size} bytes, and at most ${longest} may be there`;
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
