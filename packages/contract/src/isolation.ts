/** What separates a sandbox from the host's kernel, weakest first. */
export const isolationLevels = ['container', 'gvisor'] as const;

export type IsolationLevel = (typeof isolationLevels)[number];

/** Returns the strongest of these levels, and the weakest level there is when none is given. */
export const strongestOf = (levels: readonly IsolationLevel[]): IsolationLevel =>
  isolationLevels.findLast((level) => levels.includes(level)) ?? isolationLevels[0];

/** Returns the levels that are not weaker than this one, weakest first. */
export const levelsFrom = (level: IsolationLevel): readonly IsolationLevel[] =>
  isolationLevels.slice(isolationLevels.indexOf(level));
