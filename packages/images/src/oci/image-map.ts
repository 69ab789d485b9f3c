import { ImageError } from '../image-error.ts';
import { isEmptyImage, parseReference, toCanonical } from './reference.ts';

/** What a name of an image means on a server: a template of it, by name, or an image of another registry. */
export type ImageTarget = { kind: 'template'; name: string } | { kind: 'image'; reference: string };

/** One line of the map of a server. */
export interface ImageRule {
  /** The name as the operator wrote it. */
  name: string;
  /** What canonical names must be or, with `isPrefix`, begin with. */
  canonical: string;
  isPrefix: boolean;
  target: ImageTarget;
}

const TEMPLATE = 'template:';
const templatePattern = /^[a-z0-9_-]{1,128}(?::[a-z0-9._-]{1,128})?$/;

/**
 * Parses `NAME=TARGET`. The name is that of an image, or ends in `/*` for all below. The target is `template:NAME`, or an image, which
 * ends in `/*` when the name does. Throws `invalid_reference`.
 */
export function parseImageRule(text: string): ImageRule {
  const at = text.indexOf('=');
  const [name, to] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || to === '')
    throw new ImageError('invalid_reference', `${JSON.stringify(text)} must be NAME=TARGET`);
  const isPrefix = name.endsWith('/*');
  if (!isPrefix && isFixed(name))
    throw new ImageError('invalid_reference', `${name} means the same on each server`);
  const canonical = isPrefix ? toPrefix(name) : toCanonical(name);
  return { name, canonical, isPrefix, target: parseTarget(to, { isPrefix }) };
}

function parseTarget(text: string, { isPrefix }: { isPrefix: boolean }): ImageTarget {
  if (text.startsWith(TEMPLATE)) {
    const name = text.slice(TEMPLATE.length);
    if (templatePattern.test(name)) return { kind: 'template', name };
    throw new ImageError('invalid_reference', `${JSON.stringify(name)} is no name of a template`);
  }
  if (isPrefix !== text.endsWith('/*'))
    throw new ImageError(
      'invalid_reference',
      `only both sides or none of ${JSON.stringify(text)} may end in /*`,
    );
  if (isPrefix) toPrefix(text);
  else parseReference(text);
  return { kind: 'image', reference: text };
}

/** Throws `invalid_reference` when two rules have the same name. */
export function requireDistinct(rules: readonly ImageRule[]): void {
  for (const [index, { canonical, isPrefix, name }] of rules.entries())
    if (rules.slice(0, index).some((rule) => rule.canonical === canonical && rule.isPrefix === isPrefix))
      throw new ImageError('invalid_reference', `${name} is mapped twice`);
}

/**
 * What the rules make of a reference; undefined: it stays what it is. A whole name goes before a prefix, and a longer
 * prefix before a shorter one. A reference with a digest never becomes a template, whose content could be another. What is
 * no reference stays what it is, too, and so do `scratch` and `e2bdev/base`.
 */
export function findTarget(rules: readonly ImageRule[], reference: string): ImageTarget | undefined {
  if (!isReference(reference) || isFixed(reference)) return undefined;
  const canonical = toCanonical(reference);
  const isPinned = canonical.includes('@');
  const [rule] = rules
    .filter(({ isPrefix, ...rule }) =>
      isPrefix ? canonical.startsWith(rule.canonical) : canonical === rule.canonical,
    )
    .filter(({ target }) => !(isPinned && target.kind === 'template'))
    .toSorted((a, b) => Number(a.isPrefix) - Number(b.isPrefix) || b.canonical.length - a.canonical.length);
  if (rule === undefined || rule.target.kind === 'template' || !rule.isPrefix) return rule?.target;
  return {
    kind: 'image',
    reference: `${rule.target.reference.slice(0, -1)}${canonical.slice(rule.canonical.length)}`,
  };
}

/** Whether that is the image without files, or the default one of clients, which is the base template. */
function isFixed(text: string): boolean {
  return isEmptyImage(text) || toCanonical(text) === toCanonical('e2bdev/base');
}

function isReference(text: string): boolean {
  try {
    return parseReference(text) !== undefined;
  } catch {
    return false;
  }
}

/** Two parts in place of the star: a single one below Docker Hub would be below `library`. */
function toPrefix(text: string): string {
  const { baseUrl, repository } = parseReference(`${text.slice(0, -1)}x/x`);
  return `${baseUrl}/${repository.slice(0, -'x/x'.length)}`;
}
