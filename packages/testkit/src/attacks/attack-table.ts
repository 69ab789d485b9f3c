import { isolationLevels } from '@skerry/contract/isolation';
import type { AttackPlace, AttackRow } from '@skerry/runtime/testing';

/** An attack in the table: what became of it in each place where it was tried. */
interface Line {
  attack: string;
  places: Map<AttackPlace, { stoppedBy: string; failed: boolean }>;
}

export interface TriedAttack extends AttackRow {
  failed: boolean;
}

const columns: readonly AttackPlace[] = [...isolationLevels, 'outside'];

const toLines = (tried: readonly TriedAttack[]): Line[] => {
  const lines = new Map<string, Line>();
  for (const { attack, place, stoppedBy, failed } of tried) {
    const line = lines.get(attack) ?? { attack, places: new Map() };
    lines.set(attack, line);
    const known = line.places.get(place);
    line.places.set(place, { stoppedBy, failed: failed || (known?.failed ?? false) });
  }
  return [...lines.values()].sort((one, other) => (one.attack < other.attack ? -1 : 1));
};

const toCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

/** The places where it was tried, in the order of the columns. */
const toWhere = (line: Line): string => {
  const found = columns.filter((place) => line.places.has(place));
  return found.join(', ');
};

const toOutcome = (line: Line): string => {
  const outcomes = columns.flatMap((place) => {
    const found = line.places.get(place);
    if (found === undefined) return [];
    return [{ place, text: found.failed ? 'NOT STOPPED' : found.stoppedBy }];
  });
  const texts = [...new Set(outcomes.map(({ text }) => text))];
  if (texts.length === 1) return texts[0] ?? '';
  return outcomes.map(({ place, text }) => `${place}: ${text}`).join('; ');
};

/** The table of attacks in Markdown, each with where it was tried and what stopped it. */
export const toAttackTable = (tried: readonly TriedAttack[]): string => {
  const rows = toLines(tried).map((line) => [line.attack, toWhere(line), toOutcome(line)]);
  const lines = [['Attack', 'Tried at', 'Stopped by'], ['---', '---', '---'], ...rows];
  return lines.map((cells) => `| ${cells.map(toCell).join(' | ')} |`).join('\n');
};
