import type { JsonSchema } from './document.ts';

/**
 * Returns a schema without references that also refuses keys which the given one does not name. A free object
 * stays free.
 */
export const refusingUnknownKeys = (schema: JsonSchema): JsonSchema => {
  const strict = inside(schema);
  return namesKeys(schema) && schema.additionalProperties === undefined
    ? { ...strict, unevaluatedProperties: false }
    : strict;
};

const branches = ['allOf', 'anyOf', 'oneOf'] as const;

/** Parts of a composition are left open: each would refuse the keys that another part names. */
const inside = (schema: JsonSchema): JsonSchema => {
  const strict = { ...schema };
  if (isSchema(schema.properties)) {
    strict.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, value]) => [
        key,
        isSchema(value) ? refusingUnknownKeys(value) : value,
      ]),
    );
  }
  for (const key of ['items', 'additionalProperties']) {
    const value = schema[key];
    if (isSchema(value)) strict[key] = refusingUnknownKeys(value);
  }
  for (const key of branches) {
    if (Array.isArray(schema[key])) strict[key] = (schema[key] as JsonSchema[]).map(inside);
  }
  return strict;
};

const namesKeys = (schema: JsonSchema): boolean =>
  isSchema(schema.properties) ||
  branches.some((key) => Array.isArray(schema[key]) && (schema[key] as JsonSchema[]).some(namesKeys));

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
