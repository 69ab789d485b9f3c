/** A pattern in which `?` is any character and `*` any number of them, as tokens. */
type Token = { kind: 'char'; char: string } | { kind: 'one' } | { kind: 'any' };

/** Steps of one search. More would block a server that expands words of others. */
const MAX_STEPS = 1_000_000;

/** The search for a pattern in a value takes too long. */
export class PatternTooLongError extends Error {}

const toTokens = (pattern: string): Token[] => {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at] ?? '';
    if (char === '\\' && at + 1 < pattern.length) {
      at += 1;
      tokens.push({ kind: 'char', char: pattern[at] ?? '' });
    } else if (char === '*') tokens.push({ kind: 'any' });
    else if (char === '?') tokens.push({ kind: 'one' });
    else tokens.push({ kind: 'char', char });
  }
  return tokens;
};

/** The length of the shortest or longest beginning of `chars` from `from` that matches; undefined for none. */
const findLength = (
  tokens: readonly Token[],
  chars: string | readonly string[],
  { from = 0, longest }: { from?: number; longest: boolean },
): number | undefined => {
  /** The numbers of tokens that are matched at this place, all at the same time: no backtracking. */
  let states = new Set<number>();
  const enter = (to: Set<number>, state: number): void => {
    for (let next = state; !to.has(next); next += 1) {
      to.add(next);
      if (tokens[next]?.kind !== 'any') return;
    }
  };
  enter(states, 0);
  let found: number | undefined;
  for (let at = from; states.size > 0; at += 1) {
    if (states.has(tokens.length)) {
      found = at - from;
      if (!longest) return found;
    }
    if (at === chars.length) return found;
    const next = new Set<number>();
    for (const state of states) {
      const token = tokens[state];
      if (token?.kind === 'any') enter(next, state);
      else if (token?.kind === 'one' || token?.char === chars[at]) enter(next, state + 1);
    }
    states = next;
  }
  return found;
};

const requireShort = (steps: number): void => {
  if (steps > MAX_STEPS) throw new PatternTooLongError('a pattern is too long for its value');
};

/** Removes the shortest or longest match of a pattern at the beginning of a value, or at its end. Throws `PatternTooLongError`. */
export function removeMatch(
  value: string,
  pattern: string,
  { at, longest }: { at: 'start' | 'end'; longest: boolean },
): string {
  const tokens = toTokens(pattern);
  requireShort(value.length * tokens.length);
  if (at === 'start') return value.slice(findLength(tokens, value, { longest }) ?? 0);
  // No surrogate pair is torn apart: a match has both halves or none.
  const reversed = Array.from({ length: value.length }, (_, index) => value[value.length - 1 - index] ?? '');
  const length = findLength(tokens.toReversed(), reversed, { longest }) ?? 0;
  return value.slice(0, value.length - length);
}

/** Replaces the first match of a pattern, or all that do not overlap, each as long as it can be. Throws `PatternTooLongError`. */
export function replaceMatch(
  value: string,
  pattern: string,
  { replacement, all }: { replacement: string; all: boolean },
): string {
  const tokens = toTokens(pattern);
  const isFixed = tokens.every(({ kind }) => kind !== 'any');
  requireShort(value.length * tokens.length * (isFixed ? 1 : value.length));
  const pieces: string[] = [];
  let kept = 0;
  let madeLength = 0;
  for (let at = 0; at < value.length; ) {
    const length = findLength(tokens, value, { from: at, longest: true }) ?? 0;
    if (length === 0) {
      at += 1;
      continue;
    }
    madeLength += replacement.length;
    requireShort(madeLength);
    pieces.push(value.slice(kept, at), replacement);
    at += length;
    kept = at;
    if (!all) break;
  }
  return [...pieces, value.slice(kept)].join('');
}
