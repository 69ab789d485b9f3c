/** Text by path. */
export type GeneratedFiles = ReadonlyMap<string, string>;

/** A line for each file in which what was there differs from what the generators write. */
export const findDrift = (before: GeneratedFiles, after: GeneratedFiles): string[] => [
  ...[...before.keys()].filter((name) => !after.has(name)).map((name) => `no generator writes ${name}`),
  ...[...after].flatMap(([name, text]) => {
    if (!before.has(name)) return [`missing: ${name}`];
    return before.get(name) === text ? [] : [`changed: ${name}`];
  }),
];
