import { execFile } from 'node:child_process';
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SCAN = join(import.meta.dirname, '../attacks/read-memory.py');

/**
 * Where each secret is found: in the files of a folder that are no disks of sandboxes, and in the memory and the environment of a
 * process and its children. Needs root.
 */
export async function findSecrets(
  pid: number,
  { folder, secrets }: { folder: string; secrets: Readonly<Record<string, string>> },
): Promise<Record<string, string[]>> {
  const pids = [pid, ...childrenOf(pid)];
  const halves = Object.entries(secrets).map(([name, text]) => {
    const middle = Math.floor(text.length / 2);
    return [name, [text.slice(0, middle), text.slice(middle)]];
  });
  const args = [SCAN, JSON.stringify(Object.fromEntries(halves)), ...pids.map(String)];
  const { stdout } = await promisify(execFile)('python3', args, { maxBuffer: 2 ** 26 });
  const { found, names } = JSON.parse(stdout) as { found: Record<string, string[]>; names: string[] };
  if (names.length < 2) throw new Error(`only ${names.join()} could be read: a node has a helper`);
  const files = [
    ...filesBelow(folder),
    ...pids.flatMap((one) => [`/proc/${one}/environ`, `/proc/${one}/cmdline`]),
  ];
  for (const file of files) {
    // Large images are among them: the connections of this process must be served meanwhile.
    const content = await readFile(file).catch(ignoreMissing);
    if (content === undefined) continue;
    for (const [name, text] of Object.entries(secrets)) if (content.includes(text)) found[name]?.push(file);
  }
  return found;
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(Boolean);

const filesBelow = (folder: string): string[] => {
  let entries: Dirent[] = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    ignoreMissing(error);
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(sandboxes|snapshots|agent)$/.test(entry.name) ? [] : filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
};

/** The node removes the tree of an image after that is made. */
const ignoreMissing = (error: unknown): undefined => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
};
