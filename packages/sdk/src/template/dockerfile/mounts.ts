import { type WordPart, writeWord } from '@skerry/platform-client/words';
import type { MountDefinition } from '../definition.ts';
import type { ParsedInstruction } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toKnownText } from './scope.ts';

/** The options of each kind of mount, by their first names. */
const options: Readonly<Record<string, readonly string[]>> = {
  bind: ['target', 'source', 'from', 'rw'],
  cache: ['id', 'target', 'ro', 'sharing', 'from', 'source', 'mode', 'uid', 'gid'],
  tmpfs: ['target', 'size'],
};
const otherNames: Readonly<Record<string, string>> = {
  dst: 'target',
  destination: 'target',
  src: 'source',
  readonly: 'ro',
  readwrite: 'rw',
};
const sharings = ['shared', 'private', 'locked'];

/** The sources that the mounts of an instruction name with `from`. */
export const fromsOfMounts = ({ keyword, flags }: ParsedInstruction): string[] =>
  keyword === 'RUN'
    ? flags
        .filter(({ name }) => name === 'mount')
        .flatMap(({ value }) => value.split(',').flatMap((part) => /^from=(.*)$/i.exec(part)?.[1] ?? []))
    : [];

/** The mounts of a RUN. `findStage` returns the stage that `from` names. Throws `DockerfileError`. */
export function toMounts(
  { line, flags }: ParsedInstruction,
  scope: Scope,
  findStage: (from: string) => number,
): MountDefinition[] {
  return flags
    .filter(({ name }) => name === 'mount')
    .map(({ value }) => toMount(value, { scope, line, findStage }));
}

function toMount(
  text: string,
  { scope, line, findStage }: { scope: Scope; line: number; findStage: (from: string) => number },
): MountDefinition {
  const given = parseOptions(text, line);
  const type = given.get('type') ?? 'bind';
  const known =
    options[type] ??
    refuse(line, `RUN --mount=type=${type} is not supported, only bind, cache and tmpfs are`);
  if (given.has('tmpcopyup'))
    refuse(line, 'RUN --mount=type=tmpfs,tmpcopyup is not supported: the folder is empty, as in Docker');
  for (const [name, value] of given)
    if (name !== 'type' && !known.includes(name) && !(type === 'bind' && name === 'ro' && value === 'true'))
      refuse(line, `RUN --mount=type=${type} has no option ${name}`);
  const toWord = (name: string) => {
    const value = given.get(name);
    return value === undefined ? undefined : (splitWords(value, scope, line, { whole: true })[0] ?? []);
  };
  const size = toWord('size');
  // The disk of the build is the limit.
  if (size !== undefined && !/^\d+[kmgt]?b?$/i.test(toKnownText(size, line)))
    refuse(
      line,
      `size of RUN --mount must be a number of bytes, or of k, m or g, got "${given.get('size')}"`,
    );
  // Docker mounts the context at the working folder where no other is named.
  const target =
    toWord('target') ?? (type === 'bind' ? ['.'] : refuse(line, `RUN --mount=type=${type} needs a target`));
  const source = toWord('source');
  const from = given.get('from');
  const origin =
    from === undefined ? {} : { fromStage: findStage(from), ...(source && { source: writeWord(source) }) };
  switch (type) {
    case 'tmpfs':
      return { type, target: writeWord(target) };
    case 'cache': {
      const sharing = given.get('sharing') ?? 'shared';
      if (!sharings.includes(sharing))
        refuse(line, `sharing must be ${sharings.join(', ')}, got "${sharing}"`);
      if (source !== undefined && from === undefined) refuse(line, 'source of a cache needs from');
      return {
        type,
        target: writeWord(target),
        ...(given.has('id') && { id: writeWord(toWord('id') ?? []) }),
        ...(sharing === 'locked' && { locked: true }),
        ...(toBoolean(given.get('ro'), line) && { readOnly: true }),
        ...toNumbers(toWord, line),
        ...origin,
      };
    }
    default:
      if (from !== undefined) return { type: 'bind', target: writeWord(target), ...origin };
      // The client sends these files, so it must know their names.
      return {
        type: 'bind',
        target: writeWord(target),
        src: toContextPath(source && toKnownText(source, line)),
      };
  }
}

/** Docker reads every source below the context. */
const toContextPath = (path = '.'): string => path.replace(/^(?:\.{0,2}\/+)+/, '') || '.';

function parseOptions(text: string, line: number): Map<string, string> {
  const given = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, key = '', value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(part) ?? [];
    const lower = key.trim().toLowerCase();
    const name = otherNames[lower] ?? lower;
    // Podman's, for labels of SELinux, which no sandbox has.
    if (/^z$|^relabel=/i.test(part)) continue;
    const isSwitch = ['ro', 'rw', 'tmpcopyup'].includes(name);
    if (name === '' || (value === undefined && !isSwitch))
      refuse(line, `RUN --mount has "${part}", which is no option`);
    given.set(name, value ?? 'true');
  }
  return given;
}

const toBoolean = (text: string | undefined, line: number): boolean => {
  if (text === undefined || /^(?:0|f|false)$/i.test(text)) return false;
  return (
    /^(?:1|t|true)$/i.test(text) ||
    refuse(line, `a switch of RUN --mount must be true or false, got "${text}"`)
  );
};

function toNumbers(
  toWord: (name: string) => WordPart[] | undefined,
  line: number,
): Pick<MountDefinition, 'mode' | 'uid' | 'gid'> {
  const toNumber = (name: string, form: RegExp, radix: number): number | undefined => {
    const word = toWord(name);
    if (word === undefined) return undefined;
    const text = toKnownText(word, line);
    return form.test(text)
      ? Number.parseInt(text, radix)
      : refuse(line, `${name} of RUN --mount is wrong: "${text}"`);
  };
  const mode = toNumber('mode', /^[0-7]{1,5}$/, 8);
  const uid = toNumber('uid', /^\d{1,10}$/, 10);
  const gid = toNumber('gid', /^\d{1,10}$/, 10);
  return {
    ...(mode !== undefined && { mode }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  };
}
