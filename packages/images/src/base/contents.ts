/** What the template `base` may contain: what agents expect, or little. */
export const baseContents = ['full', 'minimal'] as const;
export type BaseContents = (typeof baseContents)[number];
