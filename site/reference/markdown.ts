/** Text of a document in a page: what is not code must not be read as HTML, and `{{` not as a template of the site. */
export const toProse = (text: string): string =>
  text
    .trim()
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;{')))
    .join('');

/** Prose in one cell of a table. A list becomes lines. */
export const toCell = (text: string): string =>
  toProse(text)
    .replaceAll(/(^|\n) *- /g, '$1<br>• ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|');

/** A table, or nothing when it has no rows. Cells are markdown already. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${lines.join('\n')}\n`;
}

/** The parts of a page that are not empty, with a blank line between them. */
export const toSection = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');

/** A heading with its own id, by which links name it. */
export const toHeading = (level: number, text: string, id: string): string =>
  `${'#'.repeat(level)} ${text} {#${id}}`;
