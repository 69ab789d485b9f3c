import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ApiError } from '@skerry/contract/error';

/** Encrypts columns with the secret of the installation: a copy of the database alone does not show their values. */
export interface Sealer {
  /** An object as the text of the column of that name. Null stays null. */
  seal(value: object, column: string): string;
  seal(value: object | null, column: string): string | null;
  /** Throws `internal`, for the caller, when the text was sealed with another secret or for another column. */
  open(sealed: string, column: string): object;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * The JSON of an object without members, which most sandboxes have: it is stored as it is, so opening it
 * takes no time.
 */
const EMPTY = '{}';

/** A sealed text is the nonce, the encrypted JSON and its tag, as base64; that of an object without members is plain. */
export const createSealer = (secret: string): Sealer => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'sealed columns', KEY_BYTES));

  const encrypt = (text: string, column: string): string => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(column));
    const encrypted = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]).toString('base64');
  };

  const decrypt = (sealed: string, column: string): string => {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(column)).setAuthTag(bytes.subarray(-TAG_BYTES));
    return (
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    );
  };

  return {
    seal: ((value: object | null, column: string) => {
      const text = value && JSON.stringify(value);
      return text === null || text === EMPTY ? text : encrypt(text, column);
    }) as Sealer['seal'],
    open: (sealed, column) => {
      if (sealed === EMPTY) return {};
      try {
        return JSON.parse(decrypt(sealed, column)) as object;
      } catch (cause) {
        const message = `the column ${column} was encrypted with another secret: restore the file "secret" of the data folder`;
        throw new ApiError('internal', message, { cause });
      }
    },
  };
};
