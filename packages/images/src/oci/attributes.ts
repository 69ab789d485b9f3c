import { findProgram, runProgram } from '../base/run-program.ts';
import type { AttributesByPath } from './layer.ts';

/**
 * Sets extended attributes with one run of setfattr, as Node has no call for them; nothing runs when there are none.
 * The paths must exist and have no link on their way. Rejects with `missing_program` without setfattr, else with
 * `build_failed`.
 */
export async function setAttributes(options: {
  attributes: AttributesByPath;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { attributes, signal } = options;
  if (attributes.size === 0) return;
  const stanzas = [...attributes].map(([path, values]) => {
    const lines = [...values].map(([name, value]) => `${name}=0s${value.toString('base64')}`);
    return [`# file: ${quote(path)}`, ...lines, ''].join('\n');
  });
  await runProgram({
    file: findProgram('setfattr', 'attr'),
    args: ['--no-dereference', '--restore=-'],
    input: `${stanzas.join('\n')}\n`,
    signal,
  });
}

/** Every byte but the plain ones in octal, as getfattr(1) writes names. */
function quote(path: string): string {
  return [...Buffer.from(path)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w./-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
    })
    .join('');
}
