import { toPrintable, toPrintableJson } from '@skerry/contract/printable';

// All that commands say goes through these functions, which let no control character through. Only bytes that were asked for as they
// are go past them: the output of a program in a sandbox, and archives.

/** Writes one line to stdout, printable. */
export function printLine(line: string): void {
  process.stdout.write(`${toPrintable(line)}\n`);
}

/** Writes lines to stdout, printable. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${toPrintable(line)}\n`).join(''));
}

/** Writes one line of JSON to stdout, in which everything that is not printable is escaped. */
export function printJson(value: unknown): void {
  process.stdout.write(`${toPrintableJson(value)}\n`);
}

/** Writes a line of JSON for each value to stdout. */
export function printJsonLines(values: readonly unknown[]): void {
  process.stdout.write(values.map((value) => `${toPrintableJson(value)}\n`).join(''));
}

/** Writes one line about this run to stderr, after the name of the program, and the hint on a line of its own. */
export function report(message: string, hint?: string): void {
  reportText(`skerry: ${toPrintable(message)}\n${hint === undefined ? '' : `  ${toPrintable(hint)}\n`}`);
}

/** Writes lines to stderr, printable except for their ends. */
export function reportText(text: string): void {
  process.stderr.write(text.split('\n').map(toPrintable).join('\n'));
}
