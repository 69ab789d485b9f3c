import { toCell, toHeading, toProse, toSection, toTable } from '../markdown.ts';
import {
  type Body,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type PathItem,
  type Response,
  resolve,
} from './document.ts';
import { toDescription, toFields, toType } from './schema.ts';

const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;

const ofEveryResponse = 'X-Request-Id';

/** An operation with the line of its request and the parameters of its path. */
interface Call {
  verb: string;
  path: string;
  item: PathItem;
  operation: Operation;
}

/**
 * The page of a document: its operations by tag, each under a heading whose id is its `operationId`, then its schemas under
 * their names. Throws where a reference names nothing, and when an operation has a tag that the document does not describe.
 */
export function toApiPage(document: OpenApiDocument): string {
  const { info, servers, components, tags } = document;
  const calls = listCalls(document);
  const known = new Set(tags.map(({ name }) => name));
  const stray = calls.find(({ operation }) => !operation.tags.every((tag) => known.has(tag)));
  if (stray !== undefined) throw new Error(`${stray.operation.operationId} has a tag that is not described`);
  const keys = Object.entries(components.securitySchemes).map(([name, scheme]) => [
    name,
    `${scheme.in} \`${scheme.name}\``,
    toCell(scheme.description),
  ]);
  return `${toSection(
    '# API',
    'Generated from `specs/openapi.yaml`, which a server serves as `/openapi.json`.',
    toProse(info.description),
    ...servers.map(({ url, description = '' }) => `- \`${url}\`: ${toProse(description)}`),
    toTable(['Key', 'Sent as', 'Meaning'], keys),
    toTable(['Header of responses', 'Type', 'Meaning'], toHeaderRows(document)),
    ...tags.map(({ name, description }) =>
      toSection(
        `## ${name}`,
        toProse(description),
        ...calls
          .filter(({ operation }) => operation.tags[0] === name)
          .map((call) => toOperation(document, call)),
      ),
    ),
    '## Schemas',
    ...Object.entries(components.schemas).map(([name, schema]) =>
      toSection(toHeading(3, name, name), toSchema(document, schema)),
    ),
  )}\n`;
}

/** The headers of responses, each once: a header means the same in all of them. */
function toHeaderRows(document: OpenApiDocument): string[][] {
  const responses = [
    ...Object.values(document.components.responses ?? {}),
    ...listCalls(document).flatMap(({ operation }) => Object.values(operation.responses)),
  ].map((response) => resolve(document, response as Response));
  const headers = new Map(responses.flatMap(({ headers = {} }) => Object.entries(headers)));
  return [...headers].map(([name, reference]) => {
    const { description = '', schema = {} } = resolve(document, reference);
    const everywhere = name === ofEveryResponse ? 'In every response. ' : '';
    return [`\`${name}\``, toType(schema), `${everywhere}${toCell(description)}`];
  });
}

const listCalls = ({ paths }: OpenApiDocument): Call[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      return operation === undefined ? [] : [{ verb: verb.toUpperCase(), path, item, operation }];
    }),
  );

function toOperation(document: OpenApiDocument, { verb, path, item, operation }: Call): string {
  const { operationId, summary, description = '', deprecated, requestBody, responses } = operation;
  const marks = [
    `\`${verb} ${path}\``,
    `\`${operationId}\``,
    ...(deprecated === true ? ['*deprecated*'] : []),
    ...(operation['x-skerry'] === true ? ['*extension*'] : []),
    ...(operation['x-skerry-status'] === undefined ? [] : [`*${operation['x-skerry-status']}*`]),
  ];
  const security = operation.security ?? document.security;
  const keys = security.map((option) => Object.keys(option).join(' and ') || 'nothing');
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
    toParameterRow(document, resolve(document, parameter)),
  );
  return toSection(
    toHeading(3, summary, operationId),
    marks.join(' · '),
    toProse(description),
    `Needs: ${keys.join(', or ') || 'nothing'}.`,
    ...(item.servers ?? []).map(({ url }) => `At \`${url}\`.`),
    toTable(['Parameter', 'Type', 'Meaning'], parameters),
    requestBody === undefined ? '' : toRequestBody(document, requestBody),
    toTable(
      ['Status', 'Body', 'Meaning'],
      Object.entries(responses).map(([status, response]) => toResponseRow(document, status, response)),
    ),
    ...Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, response]) => toExamples(document, `Response ${status}`, response)),
  );
}

const toParameterRow = (document: OpenApiDocument, parameter: Parameter): string[] => {
  const { name, schema, description, deprecated } = parameter;
  const required = parameter.required === true ? ', required' : '';
  const described = { ...resolve(document, schema), ...(description === undefined ? {} : { description }) };
  const meaning = toDescription(document, { ...described, ...(deprecated === true ? { deprecated } : {}) });
  return [`\`${name}\` (${parameter.in})`, `${toType(schema)}${required}`, meaning];
};

function toRequestBody(document: OpenApiDocument, given: Body & { required?: boolean }): string {
  const body = resolve(document, given);
  const types = Object.entries(body.content ?? {}).map(([type, { schema = {} }]) =>
    toSection(
      `Body${body.required === true ? ', required' : ''}: ${toType(schema)} as \`${type}\`. ${toProse(body.description ?? '')}`,
      schema.$ref === undefined ? toFields(document, schema) : '',
    ),
  );
  return toSection(...types, ...toExamples(document, 'Request', body));
}

function toResponseRow(document: OpenApiDocument, status: string, given: Response): string[] {
  const { content = {}, headers = {}, description = '' } = resolve(document, given);
  const bodies = Object.entries(content).map(([type, { schema = {} }]) =>
    type === 'application/json' ? toType(schema) : `${toType(schema)} as \`${type}\``,
  );
  const others = Object.keys(headers).filter((name) => name !== ofEveryResponse);
  const named = others.length === 0 ? '' : ` Headers: ${others.map((name) => `\`${name}\``).join(', ')}.`;
  return [status, bodies.join(' or ') || 'none', `${toCell(description)}${named}`];
}

const toExamples = (document: OpenApiDocument, title: string, given: Body): string[] =>
  Object.values(resolve(document, given).content ?? {}).flatMap(({ examples = {} }) =>
    Object.values(examples).map((reference) => {
      const { summary, value } = resolve(document, reference);
      const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
      const language = typeof value === 'string' ? '' : 'json';
      return `${title}${summary === undefined ? '' : `. ${toProse(summary)}`}:\n\n\`\`\`${language}\n${text}\n\`\`\``;
    }),
  );

const toSchema = (
  document: OpenApiDocument,
  schema: OpenApiDocument['components']['schemas'][string],
): string => {
  const fields = toFields(document, schema);
  const marks = toDescription(document, { ...schema, description: '' });
  const about = toSection(toProse(schema.description ?? ''), marks);
  const isObject = fields !== '' && [schema.type ?? 'object'].flat().includes('object');
  return toSection(about, isObject ? '' : `Type: ${toType(schema)}`, fields);
};
