/**
 * A copy of the program in which `from`, a NUL-terminated string of its own, is replaced by `to`, which has as many
 * bytes. Undefined when the program does not contain the string exactly once.
 */
export const replaceText = (
  program: Buffer,
  { from, to }: { from: string; to: string },
): Buffer | undefined => {
  const found = Buffer.from(`\0${from}\0`);
  const at = program.indexOf(found);
  if (at === -1 || program.includes(found, at + 1)) return undefined;
  const changed = Buffer.from(program);
  changed.write(to, at + 1, 'latin1');
  return changed;
};
