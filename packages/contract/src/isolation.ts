/** What separates a sandbox from the host's kernel, weakest first. */
export const isolationLevels = ['container', 'gvisor'] as const;

export type IsolationLevel = (typeof isolationLevels)[number];
