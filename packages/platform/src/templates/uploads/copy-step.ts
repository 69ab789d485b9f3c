import { posix } from 'node:path';
import { invalid } from '@skerry/contract/error';
import type { CopyStep, UploadedFiles } from '../build-plan.ts';

/** What the glob of the clients reads as more than itself, unless a backslash is before it. */
const pattern = /(?<!\\)(?:[*?]|\[[^\]]*\]|[+@!]\(|\{[^}]*(?:,|\.\.)[^}]*\})/;
/** Matches a name or number of a user or group. */
export const account = '(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\\d{1,10})';
const ownerForm = new RegExp(`^${account}(?::${account})?$`);
const modeForm = /^0?[0-7]{1,4}$/;
const hashForm = /^[0-9a-f]{64}$/;
/** Of the kernel, with its end. */
const MAX_PATH_LENGTH = 4_095;

interface CopyFields {
  args: readonly string[];
  filesHash?: string | undefined;
  fromStage?: number | undefined;
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
  if (owner !== '' && !ownerForm.test(owner))
    throw invalid(
      `${field}.args: an owner must be "user" or "user:group" of names or numbers, got "${owner}"`,
    );
  if (mode !== '' && !modeForm.test(mode))
    throw invalid(`${field}.args: a mode must be octal, as "0755", got "${mode}"`);
  return {
    type: 'COPY',
    source,
    from: parseFrom({ ...from, source }, field, stageCount),
    destination,
    owner: owner === '' ? undefined : owner,
    mode: mode === '' ? undefined : Number.parseInt(mode, 8),
    keepsOwners: dockerfile && owner === '',
    overwritesFolders: dockerfile,
  };
};

const parseFrom = (
  { filesHash, fromStage, source }: Omit<CopyFields, 'args'> & { source: string },
  field: string,
  stageCount: number,
): CopyStep['from'] => {
  if (fromStage !== undefined) {
    if (filesHash !== undefined) throw invalid(`${field}.filesHash does not go with fromStage`);
    if (fromStage < stageCount) return { kind: 'stage', index: fromStage };
    throw invalid(`${field}.fromStage: there is no stage ${fromStage} before`);
  }
  if (filesHash === undefined)
    throw invalid(`${field}.filesHash is missing: a step that copies files needs it`);
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
