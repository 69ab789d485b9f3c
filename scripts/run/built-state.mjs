// Whether what a checkout runs is installed and built from the files that it has: turbo and pnpm need seconds to find that out.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What installation and build read beside the packages of the agent, which alone is built for a server of the checkout. */
const shared = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.base.json', 'turbo.json'];
const folders = ['bundling', 'scripts', 'specs'];
const made = new Set(['dist', 'node_modules', '.turbo']);

/** The folders of a package and of all packages of the workspace that it depends on. */
function listPackages(root, name, found = new Set()) {
  const folder = join('packages', name);
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  for (const [dependency, version] of Object.entries(dependencies))
    if (version.startsWith('workspace:')) listPackages(root, dependency.replace('@skerry/', ''), found);
  return found;
}

function* listFiles(root, path) {
  for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
    if (made.has(entry.name)) continue;
    const inside = join(path, entry.name);
    if (entry.isDirectory()) yield* listFiles(root, inside);
    else if (entry.isFile()) yield inside;
  }
}

/** A digest of the names and bytes of all files that the agent and the installed packages are made from. */
function digestInputs(root) {
  const manifests = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'package.json'));
  const sources = [...folders, ...listPackages(root, 'envd')].flatMap((folder) => [
    ...listFiles(root, folder),
  ]);
  const hash = createHash('sha256');
  for (const file of [...shared, ...manifests, ...sources].toSorted((one, other) => (one < other ? -1 : 1))) {
    const path = join(root, file);
    if (existsSync(path)) hash.update(`${file}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

/** What another installation or another build replaces, so that it shows. */
function identifyOutputs(root) {
  return ['node_modules/.modules.yaml', 'packages/envd/dist/main.js'].map((file) => {
    const { ino, ctimeMs } = statSync(join(root, file));
    return `${file} ${ino} ${ctimeMs}`;
  });
}

const stateFile = (root) => join(root, '.toolchain/built.json');
const readState = (root) => JSON.stringify({ inputs: digestInputs(root), outputs: identifyOutputs(root) });

/** Whether nothing has changed since `noteBuilt`: neither files that a build reads, nor what was built and installed. */
export function isBuilt(root) {
  try {
    return readFileSync(stateFile(root), 'utf8') === readState(root);
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Keeps the state of a checkout in which everything has just been installed and built. */
export function noteBuilt(root) {
  mkdirSync(dirname(stateFile(root)), { recursive: true });
  writeFileSync(stateFile(root), readState(root));
}
