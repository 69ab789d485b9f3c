/**
 * Characters that a terminal obeys or hides in place of showing them: controls (C0, DEL, C1), the marks that reorder text of two
 * directions and other invisible ones, and the separators of lines. The two joiners are left out: words of several scripts and
 * emoji need them.
 */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the text with every unprintable character written out, line ends too, such as `\x1b` and `\u202e`. Words of a sandbox, of
 * a registry or of a Dockerfile can then neither move a cursor nor pretend to be another line or another word.
 */
export const toPrintable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x1_00) return `\\x${toHex(code, 2)}`;
    return code < 0x1_0000 ? `\\u${toHex(code, 4)}` : `\\u{${toHex(code, 0)}}`;
  });

/** Returns JSON of the value on one line, with every unprintable character escaped: the value that it is parsed to is the same. */
export const toPrintableJson = (
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): string =>
  JSON.stringify(value, replacer).replaceAll(UNPRINTABLE, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${toHex(character.charCodeAt(at), 4)}`).join(''),
  );

const toHex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
