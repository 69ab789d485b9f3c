import { toCell, toSection, toTable } from '../markdown.ts';
import { type OpenApiDocument, resolve, type Schema, toSchemaName } from './document.ts';

/** The type of a schema in words, with links to schemas that have a name. */
export function toType(schema: Schema): string {
  const name = toSchemaName(schema);
  if (name !== undefined) return `[${name}](#${name})`;
  const { items, additionalProperties, enum: values } = schema;
  if (schema.const !== undefined) return toCode(schema.const);
  if (values !== undefined) return values.map(toCode).join(' or ');
  const variants = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].filter(isWhole);
  if (variants.length > 0) return variants.map(toType).join(' or ');
  if (schema.title !== undefined) return schema.title;
  if (schema.allOf !== undefined) return schema.allOf.map(toType).join(' and ');
  const types = [schema.type ?? 'any value'].flat().map((type) => {
    if (type === 'array') return `array of ${items === undefined ? 'any value' : toType(items)}`;
    if (type === 'object' && typeof additionalProperties === 'object')
      return `object of ${toType(additionalProperties)} by name`;
    return schema.format === undefined || type === 'null' ? type : `${type} (${schema.format})`;
  });
  return types.join(' or ');
}

/** The limits of a value. */
export function toLimits(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties, pattern } = schema;
  return [
    ...toRange(minimum, maximum, ''),
    ...toRange(minLength, maxLength, ' characters'),
    ...toRange(minItems, maxItems, ' items'),
    ...toRange(undefined, maxProperties, ' entries'),
    ...(pattern === undefined ? [] : [`pattern ${toCode(pattern)}`]),
    ...(schema.default === undefined ? [] : [`default ${toCode(schema.default)}`]),
  ];
}

/** What a table says about a value: what it is, its limits and its marks. */
export const toDescription = (document: OpenApiDocument, schema: Schema): string => {
  const whole = resolve(document, schema);
  const { deprecated, 'x-skerry': isOwn, 'x-skerry-status': status } = whole;
  const limits = toSchemaName(schema) === undefined ? toLimits(whole) : [];
  const marks = [
    ...(deprecated === true ? ['deprecated'] : []),
    ...(isOwn === true ? ['extension'] : []),
    ...(status === undefined ? [] : [status]),
  ];
  const notes = [...limits.map((limit) => limit.replaceAll('|', '\\|')), ...marks.map((mark) => `*${mark}*`)];
  const ofItems = whole.items === undefined || toSchemaName(whole.items) ? [] : toLimits(whole.items);
  if (ofItems.length > 0) notes.push(`each: ${ofItems.join(', ').replaceAll('|', '\\|')}`);
  return [toCell(whole.description ?? ''), notes.join('; ')].filter((part) => part !== '').join(' — ');
};

/** The fields of an object with those of the objects in it, and the variants of a choice, each with its fields. */
export function toFields(document: OpenApiDocument, schema: Schema): string {
  const whole = resolve(document, schema);
  const rows = toRows(document, whole, '');
  const table = toTable(['Field', 'Type', 'Meaning'], rows);
  const choices = [...(whole.oneOf ?? []), ...(whole.anyOf ?? [])];
  const variants = choices.filter(isWhole).map((variant) => {
    const title = `**${variant.title ?? toType(variant)}**: ${toDescription(document, variant)}`;
    return toSection(title, toSchemaName(variant) === undefined ? toFields(document, variant) : '');
  });
  const required = choices.filter((choice) => !isWhole(choice)).map((choice) => toNames(choice.required));
  const rule =
    required.length === 0
      ? ''
      : `Required: ${whole.oneOf ? 'exactly one' : 'one'} of ${required.join(', ')}.`;
  return toSection(table, rule, ...variants);
}

function toRows(document: OpenApiDocument, schema: Schema, prefix: string): string[][] {
  const inherited = (schema.allOf ?? []).flatMap((part) => toRows(document, resolve(document, part), prefix));
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const required = schema.required?.includes(name) === true ? ', required' : '';
    const row = [`\`${path}\``, `${toType(field)}${required}`, toDescription(document, field)];
    return [row, ...toInnerRows(document, field, path)];
  });
  return [...inherited, ...own];
}

/** The rows of the objects without a name in a value. */
function toInnerRows(document: OpenApiDocument, schema: Schema, path: string): string[][] {
  if (toSchemaName(schema) !== undefined) return [];
  const { items, additionalProperties } = schema;
  return [
    ...toRows(document, schema, `${path}.`),
    ...(items === undefined ? [] : toInnerRows(document, items, `${path}[]`)),
    ...(typeof additionalProperties === 'object'
      ? toInnerRows(document, additionalProperties, `${path}.*`)
      : []),
  ];
}

/** Whether a variant is more than a rule about which fields are there. */
const isWhole = (variant: Schema): boolean => Object.keys(variant).some((key) => key !== 'required');

const toCode = (value: unknown): string =>
  `\`${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('|', '\\|')}\``;

const toNames = (names: readonly string[] = []): string => names.map((name) => `\`${name}\``).join(' and ');

const toRange = (from: number | undefined, to: number | undefined, unit: string): string[] => {
  if (from === undefined && to === undefined) return [];
  if (to === undefined) return from === 1 && unit !== '' ? ['not empty'] : [`at least ${from}${unit}`];
  return from === undefined ? [`at most ${to}${unit}`] : [`${from} to ${to}${unit}`];
};
