import { invalid } from '@skerry/contract/error';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { JsonSchema, OperationDescription, OperationParameter } from './document.ts';
import { refusingUnknownKeys } from './refusing-unknown-keys.ts';
import { toViolationMessage } from './violation-message.ts';

export interface RequestParts {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  headers: Record<string, unknown>;
  body: unknown;
}

export interface Validators {
  /**
   * Creates the validator of one operation's requests. The first call compiles its schemas, of which a server has many and
   * uses few. It returns the parts with text converted to the declared types
   * and headers reduced to the declared ones, and throws `invalid_argument` for the first violation. It does not
   * change its input.
   */
  forRequest(operation: OperationDescription): (parts: RequestParts) => RequestParts;
  /**
   * Creates the validator of one operation's responses. It throws a plain error: a wrong response is a defect of the
   * server.
   */
  forResponse(operation: OperationDescription): (status: number, body: unknown) => void;
}

/**
 * Two compilers with the same formats: JSON bodies must have the declared types, text of a URL or header is converted.
 */
export const createValidators = (): Validators => {
  const options = {
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    verbose: true,
  };
  const strict = new Ajv2020(options);
  const coercing = new Ajv2020({ ...options, coerceTypes: 'array' });
  for (const ajv of [strict, coercing]) {
    formats.default(ajv);
    ajv.addVocabulary(['x-skerry', 'x-skerry-status']);
  }

  return {
    forRequest: (operation) => {
      const checks = once(() => compileChecks({ strict, coercing }, operation));
      return (parts) => {
        const { params, query, headers, body } = checks();
        return {
          params: params(parts.params),
          query: query(parts.query),
          headers: headers(parts.headers),
          body: body && checkBody(body, parts),
        };
      };
    },
    forResponse: (operation) => {
      const checks = new Map(
        [...operation.responses].map(([status, schema]) => [status, schema && strict.compile(schema)]),
      );
      return (status, body) => {
        if (!checks.has(status))
          throw new Error(`${operation.operationId} answered ${status}, which is not declared`);
        const check = checks.get(status);
        if (!check && body !== undefined) {
          throw new Error(`${operation.operationId} answered ${status} with a body, which is not declared`);
        }
        if (check && !check(body)) {
          throw new Error(
            `${operation.operationId} answered ${status} wrongly: ${toFirstMessage('body', check)}`,
          );
        }
      };
    },
  };
};

const compileChecks = (
  { strict, coercing }: { strict: Ajv2020; coercing: Ajv2020 },
  operation: OperationDescription,
) => {
  const { body } = operation;
  return {
    params: createPartCheck(coercing, 'path', operation),
    query: createPartCheck(coercing, 'query', operation),
    headers: createPartCheck(coercing, 'header', operation),
    body: body && {
      required: body.required,
      check: strict.compile(body.schema),
      // Few callers ask for it: compiled for the first that does.
      checkKeys: once(() => strict.compile(refusingUnknownKeys(body.schema))),
    },
  };
};

/** The header with which a caller has unknown keys of its body refused, instead of ignored. */
const STRICT = 'x-skerry-strict';

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};

const checkBody = (
  {
    required,
    check,
    checkKeys,
  }: { required: boolean; check: ValidateFunction; checkKeys: () => ValidateFunction },
  { body, headers }: RequestParts,
): unknown => {
  if (body === undefined) {
    if (required) throw invalid('validation error: body is required');
    return undefined;
  }
  if (!check(body)) throw invalid(`validation error: ${toFirstMessage('body', check)}`);
  if (headers[STRICT] === 'true') {
    const keys = checkKeys();
    if (!keys(body)) throw invalid(`validation error: ${toFirstMessage('body', keys)}`);
  }
  return body;
};

const createPartCheck = (ajv: Ajv2020, part: OperationParameter['in'], operation: OperationDescription) => {
  const parameters = operation.parameters
    .filter((parameter) => parameter.in === part)
    // Header names arrive in lower case.
    .map((parameter) =>
      part === 'header' ? { ...parameter, name: parameter.name.toLowerCase() } : parameter,
    );
  if (parameters.length === 0) return (): Record<string, unknown> => ({});
  const schema: JsonSchema = {
    type: 'object',
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  };
  const check = ajv.compile(schema);
  return (raw: Record<string, unknown>): Record<string, unknown> => {
    const values: Record<string, unknown> = {};
    for (const parameter of parameters) {
      const value = parameter.explode ? raw[parameter.name] : splitAtCommas(raw[parameter.name]);
      if (value !== undefined) values[parameter.name] = value;
    }
    if (!check(values)) throw invalid(`validation error: ${toFirstMessage(part, check)}`);
    return values;
  };
};

/** Splits a value at commas, and accepts the repeated form, too. Empty text counts as absent. */
const splitAtCommas = (raw: unknown): unknown[] | undefined => {
  const pieces = [raw ?? []]
    .flat()
    .flatMap((piece) => (typeof piece === 'string' ? piece.split(',') : [piece]));
  const given = pieces.filter((piece) => piece !== '');
  return given.length > 0 ? given : undefined;
};

const toFirstMessage = (part: string, check: ValidateFunction): string => {
  const errors = check.errors ?? [];
  const choice = errors.findLast(({ keyword }) => keyword === 'oneOf' || keyword === 'anyOf');
  // Errors of the branches come first. One of them is more useful than "no branch fits" only if it lies deeper.
  const deeper =
    choice && errors.find(({ instancePath }) => instancePath.length > choice.instancePath.length);
  const error = deeper ?? choice ?? errors[0];
  return error ? toViolationMessage(part, error) : `${part} is not valid`;
};
