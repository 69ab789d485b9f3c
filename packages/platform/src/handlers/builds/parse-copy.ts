import { posix } from 'node:path';
import type { CopyStep, StageSource, UploadedFiles } from '../../templates/build-plan.ts';
import { accountForm, octalForm } from '../../templates/step-position.ts';
import type { BuildProblem, ToProblem } from './build-problem.ts';

/** What the glob of the clients reads as more than itself, unless a backslash is before it. */
const pattern = /(?<!\\)(?:[*?]|\[[^\]]*\]|[+@!]\(|\{[^}]*(?:,|\.\.)[^}]*\})/;
const hashForm = /^[0-9a-f]{64}$/;
/** PATH_MAX of the kernel, without the NUL at the end. */
const MAX_PATH_LENGTH = 4_095;

interface CopyFields {
  args: readonly string[];
  filesHash?: string | undefined;
  fromStage?: number | undefined;
  content?: string | undefined;
  dockerfile?: boolean | undefined;
}

/** Parses a step that copies files. Throws the problem of a field. */
export const parseCopy = (
  { args, dockerfile = false, ...from }: CopyFields,
  problem: ToProblem,
  stageCount = 0,
): CopyStep => {
  const [source = '', destination = '', owner = '', mode = '', ...more] = args;
  if (source === '' || destination === '' || more.length > 0)
    throw problem('args', 'must be a source, a destination, and optionally a user and a mode');
  for (const path of [source, destination])
    if (Buffer.byteLength(path) > MAX_PATH_LENGTH)
      throw problem('args', `must have paths of at most ${MAX_PATH_LENGTH} bytes`);
  // Words of a Dockerfile are checked when their variables are known.
  if (owner !== '' && !dockerfile && !accountForm.test(owner))
    throw problem('args', `must have as owner "user" or "user:group" of names or numbers, got "${owner}"`);
  if (mode !== '' && !dockerfile && !octalForm.test(mode))
    throw problem('args', `must have an octal mode, as "0755", got "${mode}"`);
  return {
    type: 'COPY',
    source,
    from: parseFrom({ ...from, source }, problem, stageCount),
    destination,
    owner: owner === '' ? undefined : owner,
    mode: mode === '' ? undefined : mode,
    isDockerfile: dockerfile,
    keepsOwners: dockerfile && owner === '',
    overwritesFolders: dockerfile,
  };
};

const parseFrom = (
  { filesHash, fromStage, content, source }: Omit<CopyFields, 'args'> & { source: string },
  problem: ToProblem,
  stageCount: number,
): CopyStep['from'] => {
  const [first, second] = Object.entries({ fromStage, content, filesHash }).filter(
    ([, value]) => value !== undefined,
  );
  if (first && second) throw problem(second[0], `does not go with ${first[0]}`);
  if (fromStage !== undefined) return parseStage(fromStage, problem, stageCount);
  if (content !== undefined) return { kind: 'content', content };
  if (filesHash === undefined) throw problem('filesHash', 'is missing: a step that copies files needs it');
  return parseUpload(filesHash, { source, sourceField: 'args' }, problem);
};

/** Throws the problem of the field. */
export const parseStage = (index: number, problem: ToProblem, stageCount: number): StageSource => {
  if (index < stageCount) return { kind: 'stage', index };
  throw problem('fromStage', `must be the number of an earlier stage, got ${index}`);
};

/** `sourceField` is the field of the source. Throws the problem of a field. */
export const parseUpload = (
  filesHash: string,
  { source, sourceField }: { source: string; sourceField: string },
  problem: ToProblem,
): UploadedFiles => {
  if (!hashForm.test(filesHash)) throw problem('filesHash', 'must be 64 lower-case hex digits');
  return { kind: 'upload', ...parseSource(source, (message) => problem(sourceField, message)), filesHash };
};

/** The folder or file in the archive from which names count: the source without its pattern. */
const parseSource = (
  source: string,
  problem: (message: string) => BuildProblem,
): Pick<UploadedFiles, 'root' | 'isPattern'> => {
  const parts = posix
    .normalize(source)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  if (source.startsWith('/') || parts[0] === '..')
    throw problem(`must have a relative source without a way out, got "${source}"`);
  const first = parts.findIndex((part) => pattern.test(part));
  const fixed = first === -1 ? parts : parts.slice(0, first);
  return { root: fixed.map((part) => part.replaceAll(/\\(.)/g, '$1')).join('/'), isPattern: first !== -1 };
};
