/**
 * Program: Node.js
 * Does: Loads the files of the bundle with what V8 has compiled of them, functions that had run by then included.
 * Why not the promised way: `module.enableCompileCache` keeps a module as it is when it was read, before any of its functions has
 * run, and each sandbox would compile those again. A startup snapshot (`--build-snapshot`) cannot hold `node:http`: building one
 * ends with "CheckGlobalAndEternalHandles failed" in Node 24.
 * Source: https://nodejs.org/docs/latest-v24.x/api/vm.html#scriptcreatecacheddata
 * When it no longer fits: V8 refuses what another version of itself has compiled, and compiles the files.
 * Test: boot.test.ts
 * Bench row: agent.start
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';

// The entry of the bundle. Node's own cache of compiled code holds a module as it is when it was read, before any of its functions
// has run: each sandbox would compile those again, which is half of the work of its first call.

type Wrapper = (exports: object, require: (name: string) => unknown, dirname: string) => void;

const folder = import.meta.dirname;
const modules = new Map<string, object>();

/** What has run so far, by the name of its file; the build keeps what was compiled of it, in `compiled/` beside the bundle. */
export const scripts = new Map<string, Script>();

const readIfThere = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch {
    // Then it is compiled.
    return undefined;
  }
};

/** Files of the bundle are functions of what a module of Node finds around itself. */
const load = (name: string): object => {
  const known = modules.get(name);
  if (known !== undefined) return known;
  const filename = join(folder, name);
  // V8 refuses what another version of itself has compiled.
  const script = new Script(readFileSync(filename, 'utf8'), {
    filename,
    cachedData: readIfThere(join(folder, 'compiled', name)),
  });
  const exports = {};
  modules.set(name, exports);
  scripts.set(name, script);
  (script.runInThisContext() as Wrapper)(exports, find, folder);
  return exports;
};

const loadAddon = (name: string): object => {
  const module = { exports: {} };
  process.dlopen(module, join(folder, name));
  return module.exports;
};

const find = (name: string): unknown => {
  // Libraries name modules of Node with and without "node:".
  const own = process.getBuiltinModule(name);
  if (own !== undefined) return own;
  return name.endsWith('.node') ? loadAddon(name) : load(name);
};

find('./agent.js');
