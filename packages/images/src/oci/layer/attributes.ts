import { ImageError } from '../../image-error.ts';
import { findProgram, runProgram } from '../../run-program.ts';
import type { AttributesByPath } from './layer.ts';

/**
 * Sets extended attributes with one run of setfattr, as Node has no call for them; nothing runs when there are none.
 * The paths must exist below `root` and have no link on their way. Rejects with `missing_program` without setfattr, with
 * `corrupt` for an attribute that its file cannot have, else with `build_failed`.
 */
export async function setAttributes(options: {
  root: string;
  attributes: AttributesByPath;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { root, attributes, signal } = options;
  if (attributes.size === 0) return;
  const stanzas = [...attributes].map(([path, values]) => {
    const lines = [...values].map(([name, value]) => `${name}=${encode(value)}`);
    return [`# file: ${quote(path)}`, ...lines, ''].join('\n');
  });
  await runProgram({
    file: findProgram('setfattr', 'attr'),
    args: ['--no-dereference', '--restore=-'],
    input: `${stanzas.join('\n')}\n`,
    sharesNamespaces: true,
    signal,
  }).catch((cause: unknown) => {
    const [, path] = (cause instanceof ImageError && refusal.exec(cause.message)) || [];
    if (path === undefined) throw cause;
    const message = `the file ${path.slice(root.length)} of the image has an attribute that it cannot have`;
    throw new ImageError('corrupt', message, { cause });
  });
}

/** What setfattr says when the kernel refuses an attribute for its value or for the kind of its file. */
const refusal = /^setfattr: (.*): (?:Invalid argument|Operation not permitted)$/m;

/** setfattr takes no base64 of nothing. */
const encode = (value: Buffer): string => (value.length === 0 ? '""' : `0s${value.toString('base64')}`);

/** Every byte but the plain ones in octal, as getfattr(1) writes names. */
function quote(path: string): string {
  return [...Buffer.from(path)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w./-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
    })
    .join('');
}
