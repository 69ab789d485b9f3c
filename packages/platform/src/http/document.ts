import operations from '@skerry/contract/operations.json' with { type: 'json' };

export type JsonSchema = Record<string, unknown>;

export interface OperationParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  /** False when an array is sent as one value joined by commas. */
  explode: boolean;
  schema: JsonSchema;
}

/** One operation of the document; only JSON bodies are listed. */
export interface OperationDescription {
  operationId: string;
  parameters: OperationParameter[];
  /** Undefined when the operation takes no JSON body. */
  body: { required: boolean; schema: JsonSchema } | undefined;
  /** Status → schema of the response; undefined for a response without a JSON body. */
  responses: Map<number, JsonSchema | undefined>;
}

/** The paths of `specs/openapi.yaml`, as plain data without references. */
export const documentPaths = operations.paths as Record<string, PathItem>;

/** Finds the operation that a key such as `"GET /sandboxes"` names. Throws when the document has no such operation. */
export const readOperation = (key: string): OperationDescription => {
  const [method = '', path = ''] = key.split(' ');
  const item = documentPaths[path];
  const operation = item?.[method.toLowerCase() as 'get'];
  if (!item || !operation) throw new Error(`the document has no operation ${key}`);
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
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

interface PathItem extends Partial<Record<'get' | 'put' | 'post' | 'patch' | 'delete', RawOperation>> {
  parameters?: RawParameter[];
}

interface RawOperation {
  operationId: string;
  parameters?: RawParameter[];
  requestBody?: { required?: boolean; content: RawContent };
  responses: Record<string, { content?: RawContent }>;
}
