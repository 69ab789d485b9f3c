/** The parts of an OpenAPI 3.1 document that the page shows. A schema of the document is an object, never `true`. */
export interface OpenApiDocument {
  info: { title: string; version: string; description: string };
  servers: { url: string; description?: string }[];
  security: Record<string, unknown>[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  components: Components;
}

interface Components {
  securitySchemes: Record<string, SecurityScheme>;
  schemas: Record<string, Schema>;
  [kind: string]: Record<string, unknown>;
}

export interface SecurityScheme {
  in: string;
  name: string;
  description: string;
}

export interface PathItem {
  parameters?: Parameter[];
  servers?: { url: string; description?: string }[];
  get?: Operation;
  put?: Operation;
  post?: Operation;
  patch?: Operation;
  delete?: Operation;
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  deprecated?: boolean;
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: Body & { required?: boolean };
  responses: Record<string, Response>;
  'x-skerry'?: boolean;
  'x-skerry-status'?: string;
}

/** In place of an object, the name of one: `#/components/KIND/NAME`. What stands beside it replaces parts of that. */
export interface Reference {
  $ref?: string;
}

export interface Parameter extends Reference {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  deprecated?: boolean;
  schema: Schema;
}

export interface Body extends Reference {
  description?: string;
  content?: Record<string, MediaType>;
}

export interface MediaType {
  schema?: Schema;
  examples?: Record<string, Reference & { summary?: string; value?: unknown }>;
}

export interface Response extends Body {
  description?: string;
  headers?: Record<string, Reference & { description?: string; schema?: Schema }>;
}

export interface Schema extends Reference {
  type?: string | string[];
  title?: string;
  format?: string;
  description?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  deprecated?: boolean;
  'x-skerry'?: boolean;
  'x-skerry-status'?: string;
}

/** What a reference names, with the parts beside it. Throws when it names nothing. */
export function resolve<T extends Reference>(document: OpenApiDocument, given: T): T {
  if (given.$ref === undefined) return given;
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(given.$ref) ?? [];
  const named = document.components[kind]?.[name];
  if (named === undefined) throw new Error(`${given.$ref} names nothing`);
  const { $ref: _, ...beside } = given;
  return { ...resolve(document, named as T), ...beside } as T;
}

/** The name of the schema that a reference names. */
export const toSchemaName = ({ $ref }: Reference): string | undefined =>
  /^#\/components\/schemas\/(\w+)$/.exec($ref ?? '')?.[1];
