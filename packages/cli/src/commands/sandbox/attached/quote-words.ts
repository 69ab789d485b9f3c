/** Quotes words for a shell, which then parses exactly these words. A single word is used as the whole command line. */
export function quoteWords(words: string[]): string {
  if (words.length === 1) return words[0] ?? '';
  return words.map(quoteWord).join(' ');
}

/** Quotes one word for a shell. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
