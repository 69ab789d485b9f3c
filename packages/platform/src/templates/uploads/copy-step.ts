import { posix } from 'node:path';
import { invalid } from '@skerry/contract/error';
import type { CopyStep, StageSource, UploadedFiles } from '../build-plan.ts';
import { accountForm, octalForm } from '../step-place.ts';

/** What the glob of the clients reads as more than itself, unless a backslash is before it. */
const pattern = /(?<!\\)(?:[*?]|\[[^\]]*\]|[+@!]\(|\{[^}]*(?:,|\.\.)[^}]*\})/;
const hashForm = /^[0-9a-f]{64}$/;
/** Of the kernel, with its end. */
const MAX_PATH_LENGTH = 4_095;

interface CopyFields {
  args: readonly string[];
  filesHash?: string | undefined;
  fromStage?: number | undefined;
  content?: string | undefined;
  dockerfile?: boolean | undefined;
}

/** Parses a step that copies files. Throws `invalid_argument`, naming the field. */
export const parseCopyStep = (
  { args, dockerfile = false, ...from }: CopyFields,
  field: string,
  stageCount = 0,
): CopyStep => {
  const [source = '', destination = '', owner = '', mode = '', ...more] = args;
  if (source === '' || destination === '' || more.length > 0)
    throw invalid(`${field}.args must be a source, a destination, and optionally a user and a mode`);
  for (const path of [source, destination])
    if (Buffer.byteLength(path) > MAX_PATH_LENGTH)
      throw invalid(`${field}.args: a path may have at most ${MAX_PATH_LENGTH} bytes`);
  // Words of a Dockerfile are checked when their variables are known.
  if (owner !== '' && !dockerfile && !accountForm.test(owner))
    throw invalid(
      `${field}.args: an owner must be "user" or "user:group" of names or numbers, got "${owner}"`,
    );
  if (mode !== '' && !dockerfile && !octalForm.test(mode))
    throw invalid(`${field}.args: a mode must be octal, as "0755", got "${mode}"`);
  return {
    type: 'COPY',
    source,
    from: parseFrom({ ...from, source }, field, stageCount),
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
  field: string,
  stageCount: number,
): CopyStep['from'] => {
  const [first, second] = Object.entries({ fromStage, content, filesHash }).filter(
    ([, value]) => value !== undefined,
  );
  if (first && second) throw invalid(`${field}.${second[0]} does not go with ${first[0]}`);
  if (fromStage !== undefined) return parseStage(fromStage, field, stageCount);
  if (content !== undefined) return { kind: 'content', content };
  if (filesHash === undefined)
    throw invalid(`${field}.filesHash is missing: a step that copies files needs it`);
  return parseUpload(filesHash, source, field);
};

/** Throws `invalid_argument`, naming the field. */
export const parseStage = (index: number, field: string, stageCount: number): StageSource => {
  if (index < stageCount) return { kind: 'stage', index };
  throw invalid(`${field}.fromStage: there is no stage ${index} before`);
};

/** Throws `invalid_argument`, naming the field. */
export const parseUpload = (filesHash: string, source: string, field: string): UploadedFiles => {
  if (!hashForm.test(filesHash)) throw invalid(`${field}.filesHash must be 64 lower-case hex digits`);
  return { kind: 'upload', ...parseSource(source, field), filesHash };
};

/** The folder or file in the archive from which names count: the source without its pattern. */
const parseSource = (source: string, field: string): Pick<UploadedFiles, 'root' | 'isPattern'> => {
  const parts = posix
    .normalize(source)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  if (source.startsWith('/') || parts[0] === '..')
    throw invalid(`${field}.args: a source must be relative and without a way out, got "${source}"`);
  const first = parts.findIndex((part) => pattern.test(part));
  const fixed = first === -1 ? parts : parts.slice(0, first);
  return { root: fixed.map((part) => part.replaceAll(/\\(.)/g, '$1')).join('/'), isPattern: first !== -1 };
};
