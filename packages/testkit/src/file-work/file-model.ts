import { createHash } from 'node:crypto';

/** An entry as the worker describes it, but for which names lead to one file. */
export interface DescribedEntry {
  path: string;
  type: 'file' | 'directory' | 'symlink';
  mode: number;
  uid: number;
  gid: number;
  sizeBytes?: number;
  sha256?: string;
  target?: string;
  xattrs?: Record<string, string>;
  /** Those that share a number are one file under several names. */
  same?: number;
}

interface Node {
  type: DescribedEntry['type'];
  mode: number;
  uid: number;
  gid: number;
  /** Undefined for a file of the image that was never written to: its size and hash stand for it. */
  content?: Buffer;
  sizeBytes?: number;
  sha256?: string;
  target?: string;
  xattrs: Record<string, string>;
}

/** An operation as the worker takes it. */
export type Operation = readonly [name: string, ...args: (string | number)[]];

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'ü ~', '.h', '-i'];

/**
 * What should be on a disk after random operations: a tree in memory. `next` thinks of an operation, applies it to the
 * tree, and returns it for the worker to do the same for real.
 */
export const createFileModel = (
  roots: readonly string[],
  described: readonly DescribedEntry[],
  random: () => number,
) => {
  const nodes = new Map<string, Node>();
  for (const { path, same: _, xattrs = {}, ...entry } of described) nodes.set(path, { ...entry, xattrs });

  const below = (top: number): number => Math.floor(random() * top);
  const pick = <T>(from: readonly T[]): T | undefined => from[below(from.length)];
  const paths = (fits: (node: Node, path: string) => boolean): string[] =>
    [...nodes].filter(([path, node]) => fits(node, path)).map(([path]) => path);
  const inner = (path: string): boolean => !roots.includes(path);
  const isFile = (node: Node): boolean => node.type === 'file';
  const isOwn = (node: Node): boolean => node.content !== undefined;
  const isFolder = (node: Node): boolean => node.type === 'directory';
  const children = (path: string): string[] => paths((_, other) => other.startsWith(`${path}/`));
  const text = (length: number): string =>
    Array.from({ length }, () => String.fromCharCode(97 + below(26))).join('');
  const freePath = (): string | undefined => {
    const folder = pick(paths(isFolder));
    const path = `${folder}/${pick(names)}`;
    return folder === undefined || nodes.has(path) ? undefined : path;
  };
  const put = (path: string, type: Node['type'], more: Partial<Node> = {}): void => {
    nodes.set(path, {
      type,
      mode: type === 'directory' ? 0o755 : 0o644,
      uid: 0,
      gid: 0,
      xattrs: {},
      ...more,
    });
  };
  /** The effect of a write on the mode: inode(7), S_ISUID. */
  const dropPrivileges = (node: Node): void => {
    node.mode &= ~0o4000;
    if ((node.mode & 0o010) !== 0) node.mode &= ~0o2000;
  };
  const writeInto = (node: Node, offset: number, value: string): void => {
    const before = node.content ?? Buffer.alloc(0);
    const after = Buffer.alloc(Math.max(before.length, offset + value.length));
    before.copy(after);
    after.write(value, offset);
    node.content = after;
  };

  const attempts: Record<string, () => Operation | undefined> = {
    write: () => {
      const path = freePath();
      if (path === undefined) return undefined;
      // Far behind the end, sometimes: what is before stays a hole.
      const offset = random() < 0.2 ? below(300_000) : 0;
      const value = text(1 + below(9_000));
      put(path, 'file', { content: Buffer.alloc(0) });
      writeInto(nodes.get(path) as Node, offset, value);
      return ['write', path, offset, value];
    },
    rewrite: () => {
      const path = pick(paths(isOwn));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      const [offset, value] = [below((node.content?.length ?? 0) + 1), text(1 + below(5_000))];
      writeInto(node, offset, value);
      dropPrivileges(node);
      return ['write', path, offset, value];
    },
    append: () => {
      const path = pick(paths(isOwn));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      const value = text(1 + below(5_000));
      writeInto(node, node.content?.length ?? 0, value);
      dropPrivileges(node);
      return ['append', path, value];
    },
    mapped: () => {
      const path = pick(paths((node) => (node.content?.length ?? 0) > 100));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      const value = text(1 + below(50));
      const offset = below((node.content?.length ?? 0) - value.length);
      writeInto(node, offset, value);
      return ['mapped', path, offset, value];
    },
    truncate: () => {
      const path = pick(paths(isFile));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      const size = isOwn(node) ? below(200_000) : 0;
      const after = Buffer.alloc(size);
      node.content?.copy(after);
      node.content = after;
      dropPrivileges(node);
      return ['truncate', path, size];
    },
    mkdir: () => {
      const path = freePath();
      if (path === undefined) return undefined;
      put(path, 'directory');
      return ['mkdir', path];
    },
    remove: () => {
      const path = pick(paths((node, at) => inner(at) && (!isFolder(node) || children(at).length === 0)));
      if (path === undefined) return undefined;
      nodes.delete(path);
      return ['remove', path];
    },
    rename: () => {
      const from = pick(paths((node, path) => inner(path) && !isFolder(node)));
      const onto = random() < 0.3 ? pick(paths((node) => !isFolder(node))) : freePath();
      if (from === undefined || onto === undefined) return undefined;
      const [node, other] = [nodes.get(from) as Node, nodes.get(onto)];
      // rename(2) leaves two names of one file as they are.
      if (node === other) return undefined;
      nodes.set(onto, node);
      nodes.delete(from);
      return ['rename', from, onto];
    },
    link: () => {
      const [from, path] = [pick(paths(isFile)), freePath()];
      if (from === undefined || path === undefined) return undefined;
      nodes.set(path, nodes.get(from) as Node);
      return ['link', from, path];
    },
    symlink: () => {
      const path = freePath();
      if (path === undefined) return undefined;
      const target = pick(['../x', '/etc/passwd', path, 'ü']) as string;
      put(path, 'symlink', { target, mode: 0o777 });
      return ['symlink', target, path];
    },
    chmod: () => {
      const path = pick(paths((node, at) => inner(at) && node.type !== 'symlink'));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      // A folder would hand its setgid bit on.
      const mode = pick([
        0o600,
        0o644,
        0o755,
        0o1777,
        0,
        ...(isFolder(node) ? [] : [0o4755, 0o2750]),
      ]) as number;
      node.mode = mode;
      return ['chmod', path, mode];
    },
    chown: () => {
      // Only where that takes no setuid bit away.
      const path = pick(paths((node, at) => inner(at) && (isFolder(node) || (node.mode & 0o6000) === 0)));
      if (path === undefined) return undefined;
      const [uid, gid] = [below(3) * 1000, below(3) * 1000];
      Object.assign(nodes.get(path) as Node, { uid, gid });
      return ['chown', path, uid, gid];
    },
    setxattr: () => {
      const path = pick(paths((node) => node.type !== 'symlink'));
      if (path === undefined) return undefined;
      const [name, value] = [`user.${pick(['x', 'y'])}`, text(1 + below(100))];
      (nodes.get(path) as Node).xattrs[name] = value;
      return ['setxattr', path, name, value];
    },
    removexattr: () => {
      const path = pick(paths((node) => Object.keys(node.xattrs).length > 0));
      if (path === undefined) return undefined;
      const node = nodes.get(path) as Node;
      const name = pick(Object.keys(node.xattrs)) as string;
      delete node.xattrs[name];
      return ['removexattr', path, name];
    },
  };
  const kinds = Object.keys(attempts);

  /** Removes a whole folder, and mostly makes another in its place: what was in it of the image is to stay hidden. */
  const replaceFolder = (): Operation[] => {
    const path = pick(paths((node, at) => inner(at) && isFolder(node)));
    if (path === undefined) return [];
    const gone = [...children(path), path].sort((a, b) => b.length - a.length);
    for (const each of gone) nodes.delete(each);
    const removal = gone.map((each): Operation => ['remove', each]);
    if (random() < 0.3) return removal;
    put(path, 'directory');
    return [...removal, ['mkdir', path]];
  };

  return {
    next: (): Operation[] => {
      if (random() < 0.02) return replaceFolder();
      const operation = attempts[pick(kinds) as string]?.();
      return operation === undefined ? [] : [operation];
    },
    /** The entries as the worker would describe them, each file under one number. */
    describe: (): DescribedEntry[] => {
      const numbers = new Map<Node, number>();
      const shared = new Set([...nodes.values()].filter((node) => countOf(nodes, node) > 1));
      return [...nodes].map(([path, node]) => {
        const { content, xattrs, sizeBytes, sha256, ...entry } = node;
        if (shared.has(node) && !numbers.has(node)) numbers.set(node, numbers.size + 1);
        const same = numbers.get(node);
        return {
          path,
          ...entry,
          ...(node.type === 'file' && {
            sizeBytes: content?.length ?? sizeBytes ?? 0,
            sha256:
              content === undefined ? (sha256 ?? '') : createHash('sha256').update(content).digest('hex'),
          }),
          ...(Object.keys(xattrs).length > 0 && { xattrs: { ...xattrs } }),
          ...(same !== undefined && { same }),
        };
      });
    },
  };
};

const countOf = (nodes: ReadonlyMap<string, Node>, node: Node): number => {
  let count = 0;
  for (const other of nodes.values()) if (other === node) count += 1;
  return count;
};

/** In one order, and with the numbers of files in the order in which those come: inode numbers mean nothing. */
export const normalise = (entries: readonly DescribedEntry[]): DescribedEntry[] => {
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const uses = new Map<number, number>();
  for (const { same } of sorted) if (same !== undefined) uses.set(same, (uses.get(same) ?? 0) + 1);
  const numbers = new Map<number, number>();
  return sorted.map(({ same, ...entry }) => {
    // Names outside the folders that are looked at do not count.
    if (same === undefined || (uses.get(same) ?? 0) < 2) return entry;
    if (!numbers.has(same)) numbers.set(same, numbers.size + 1);
    return { ...entry, same: numbers.get(same) as number };
  });
};
