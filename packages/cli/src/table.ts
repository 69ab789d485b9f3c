import { toPrintable } from '@skerry/contract/printable';

/** Lines of printable columns under a head, two blanks apart, as `docker ps` prints them. The last column is not padded. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [head, ...rows].map((line) => line.map(toPrintable));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const units: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];

/** A time span in its largest unit, such as `3m`. Below a second it is `0s`. */
export function toAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [name, size] = units.find(([, unit]) => seconds >= unit) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${name}`;
}
