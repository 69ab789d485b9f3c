import type { ErrorObject } from 'ajv/dist/2020.js';

const typeNames: Record<string, string> = {
  array: 'an array',
  boolean: 'a boolean',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

const formatNames: Record<string, string> = {
  'date-time': 'an RFC 3339 date and time with a time zone',
  int32: 'a 32-bit integer',
  int64: 'a 64-bit integer',
  uuid: 'a UUID',
};

/**
 * Describes in one sentence the error, its path, and the allowed values. Needs errors made with Ajv's `verbose`
 * option. `part` is the part of the request: `body`, `query`, `path` or `header`.
 */
export const toViolationMessage = (part: string, error: ErrorObject): string => {
  const where = part + toAccessor(error.instancePath);
  if (error.keyword === 'required')
    return `${where}.${(error.params as { missingProperty: string }).missingProperty} is required`;
  if (error.keyword === 'unevaluatedProperties')
    return `${where}${toAccessor(`/${(error.params as { unevaluatedProperty: string }).unevaluatedProperty.replaceAll('~', '~0').replaceAll('/', '~1')}`)} is not a known key`;
  return `${where} must ${toRule(error)}${toEvidence(error)}`;
};

const toRule = ({ keyword, params, schema, parentSchema = {}, message }: ErrorObject): string => {
  const { minimum, maximum } = parentSchema as { minimum?: number; maximum?: number };
  switch (keyword) {
    case 'type':
      return `be ${[schema]
        .flat()
        .map((name) => typeNames[String(name)] ?? String(name))
        .join(' or ')}`;
    case 'minimum':
    case 'maximum':
      if (minimum !== undefined && maximum !== undefined) return `be between ${minimum} and ${maximum}`;
      return `be at ${keyword === 'minimum' ? 'least' : 'most'} ${String(schema)}`;
    case 'multipleOf':
      return `be a multiple of ${String(schema)}`;
    case 'enum':
      return `be one of ${(params as { allowedValues: unknown[] }).allowedValues.join(', ')}`;
    case 'const':
      return `be ${JSON.stringify(schema)}`;
    case 'format':
      return `be ${formatNames[String(schema)] ?? `in the format ${String(schema)}`}`;
    case 'pattern':
      return `match ${String(schema)}`;
    case 'minLength':
    case 'maxLength':
      return `have at ${keyword === 'minLength' ? 'least' : 'most'} ${counted(schema, 'character')}`;
    case 'minItems':
    case 'maxItems':
      return `have at ${keyword === 'minItems' ? 'least' : 'most'} ${counted(schema, 'item')}`;
    case 'minProperties':
    case 'maxProperties':
      return `have at ${keyword === 'minProperties' ? 'least' : 'most'} ${counted(schema, 'key')}`;
    case 'oneOf':
    case 'anyOf': {
      const keys = (schema as { required?: string[] }[]).flatMap(({ required = [] }) => required);
      return `have ${keyword === 'oneOf' ? 'exactly' : 'at least'} one of ${keys.join(', ')}`;
    }
    default:
      return message?.replace(/^must /, '') ?? `satisfy ${keyword}`;
  }
};

/** Returns the value when it is short, plain and not a secret. */
const toEvidence = ({ data, parentSchema }: ErrorObject): string => {
  if (parentSchema?.writeOnly === true || (typeof data === 'object' && data !== null)) return '';
  const text = JSON.stringify(data) ?? 'undefined';
  return text.length > 80 ? '' : `, got ${text}`;
};

const counted = (count: unknown, noun: string): string => `${String(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Turns the JSON pointer `/network/allowOut/0` into `.network.allowOut[0]`. */
const toAccessor = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) =>
      /^\d+$/.test(step) ? `[${step}]` : /^[\w-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`,
    )
    .join('');
