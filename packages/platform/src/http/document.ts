import document from '../gen/openapi.json' with { type: 'json' };

export type JsonSchema = Record<string, unknown>;

export interface OperationParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  /** False when an array travels as one value joined by commas. */
  explode: boolean;
  schema: JsonSchema;
}

/** One operation of the document with its references followed; only JSON bodies are listed. */
export interface OperationDescription {
  operationId: string;
  parameters: OperationParameter[];
  /** Undefined when the operation takes no JSON body. */
  body: { required: boolean; schema: JsonSchema } | undefined;
  /** By status; undefined for an answer without a JSON body. */
  responses: Map<number, JsonSchema | undefined>;
}

/** `specs/openapi.yaml`, as plain data. */
export const openApiDocument: JsonSchema = document;

/**
 * Finds the operation that a key such as `"GET /sandboxes"` names and follows its references.
 * Throws when the document has no such operation.
 */
export const readOperation = (source: JsonSchema, key: string): OperationDescription => {
  const [method = '', path = ''] = key.split(' ');
  const paths = source.paths as Record<string, Record<string, unknown>>;
  const item = paths[path];
  const raw = item?.[method.toLowerCase()];
  if (!item || !raw) throw new Error(`the document has no operation ${key}`);
  const operation = resolve(source, raw) as RawOperation;
  const parameters = [
    ...((resolve(source, item.parameters ?? []) as RawParameter[]) ?? []),
    ...(operation.parameters ?? []),
  ];
  const bodySchema = operation.requestBody?.content['application/json']?.schema;
  return {
    operationId: operation.operationId,
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      in: parameter.in,
      required: parameter.required ?? false,
      explode: parameter.explode ?? true,
      schema: parameter.schema,
    })),
    body: bodySchema && { required: operation.requestBody?.required ?? false, schema: bodySchema },
    responses: new Map(
      Object.entries(operation.responses).map(([status, response]) => [
        Number(status),
        response.content?.['application/json']?.schema,
      ]),
    ),
  };
};

type RawContent = Record<string, { schema: JsonSchema } | undefined>;
type RawParameter = Omit<OperationParameter, 'required' | 'explode'> & {
  required?: boolean;
  explode?: boolean;
};

interface RawOperation {
  operationId: string;
  parameters?: RawParameter[];
  requestBody?: { required?: boolean; content: RawContent };
  responses: Record<string, { content?: RawContent }>;
}

/** Copies a part of the document with each `$ref` replaced by what it names. Throws on a reference to itself. */
const resolve = (source: JsonSchema, node: unknown, trail: readonly string[] = []): unknown => {
  if (Array.isArray(node)) return node.map((item) => resolve(source, item, trail));
  if (node === null || typeof node !== 'object') return node;
  const { $ref: reference, ...rest } = node as { $ref?: string };
  const own = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, resolve(source, value, trail)]),
  );
  if (reference === undefined) return own;
  if (trail.includes(reference)) throw new Error(`${reference} refers to itself`);
  const target = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], source);
  if (target === undefined) throw new Error(`the document has no ${reference}`);
  return { ...(resolve(source, target, [...trail, reference]) as object), ...own };
};
