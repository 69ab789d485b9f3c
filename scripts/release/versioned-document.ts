/** The text of an OpenAPI document, saying another version of itself. Throws when it says none. */
export function toVersioned(document: string, version: string): string {
  const line = /^( {2}version: ).*$/m;
  if (!line.test(document)) throw new Error('the document has no version');
  return document.replace(line, `$1${version}`);
}
