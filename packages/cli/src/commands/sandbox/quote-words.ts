/** Joins words into one shell command line that has exactly these words. One word alone is taken as the line itself. */
export function quoteWords(words: string[]): string {
  if (words.length === 1) return words[0] ?? '';
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}
