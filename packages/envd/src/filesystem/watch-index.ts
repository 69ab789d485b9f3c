/**
 * Maps each watch descriptor to its directory, and to the watches that it belongs to, under its name there.
 */
export interface WatchIndex<W extends object> {
  set(watch: W, path: string, wd: number): void;
  has(watch: W, path: string): boolean;
  sizeOf(watch: W): number;
  /** The path of a directory in a watch, undefined when it is not part of it. */
  pathOf(watch: W, wd: number): string | undefined;
  watchesOf(wd: number): readonly W[];
  /** Changes the path of a directory and of all below it. */
  move(watch: W, from: string, to: string): void;
  /** Forgets a directory and all below it, or all of a watch; returns the descriptors that are no longer used. */
  remove(watch: W, path?: string): number[];
  forget(wd: number): void;
}

const isBelow = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`);

export const createWatchIndex = <W extends object>(): WatchIndex<W> => {
  const byWd = new Map<number, Map<W, string>>();
  const byWatch = new Map<W, Map<string, number>>();

  const unlink = (watch: W, path: string, wd: number): boolean => {
    byWatch.get(watch)?.delete(path);
    const members = byWd.get(wd);
    members?.delete(watch);
    if (members === undefined || members.size > 0) return false;
    byWd.delete(wd);
    return true;
  };

  const entriesBelow = (watch: W, path: string | undefined): [string, number][] => {
    const all = [...(byWatch.get(watch) ?? [])];
    return path === undefined ? all : all.filter(([candidate]) => isBelow(candidate, path));
  };

  return {
    set(watch, path, wd) {
      const paths = byWatch.get(watch) ?? new Map<string, number>();
      byWatch.set(watch, paths.set(path, wd));
      const members = byWd.get(wd) ?? new Map<W, string>();
      byWd.set(wd, members.set(watch, path));
    },
    has: (watch, path) => byWatch.get(watch)?.has(path) ?? false,
    sizeOf: (watch) => byWatch.get(watch)?.size ?? 0,
    pathOf: (watch, wd) => byWd.get(wd)?.get(watch),
    watchesOf: (wd) => [...(byWd.get(wd)?.keys() ?? [])],
    move(watch, from, to) {
      for (const [path, wd] of entriesBelow(watch, from)) {
        const next = `${to}${path.slice(from.length)}`;
        byWatch.get(watch)?.delete(path);
        byWatch.get(watch)?.set(next, wd);
        byWd.get(wd)?.set(watch, next);
      }
    },
    remove(watch, path) {
      const unused = entriesBelow(watch, path).filter(([candidate, wd]) => unlink(watch, candidate, wd));
      if (path === undefined) byWatch.delete(watch);
      return unused.map(([, wd]) => wd);
    },
    forget(wd) {
      for (const [watch, path] of byWd.get(wd) ?? []) unlink(watch, path, wd);
    },
  };
};
