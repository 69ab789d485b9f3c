/** Whether a version of Node is in a range of the form `>=24`. Throws on other forms. */
export function isSupported(version: string, range: string): boolean {
  const [, least] = /^>=(\d+)$/.exec(range) ?? [];
  if (least === undefined) throw new Error(`unknown range of versions: ${range}`);
  return Number.parseInt(version.replace(/^v/, ''), 10) >= Number(least);
}
