import { describe, expect, it } from 'vitest';
import { openApiDocument, readOperation } from './document.ts';

describe('readOperation', () => {
  it('joins the parameters of the path and of the operation, with their references followed', () => {
    const { operationId, parameters } = readOperation(openApiDocument, 'GET /sandboxes/{sandboxID}/metrics');
    expect(operationId).toBe('getSandboxMetrics');
    expect(parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([
      ['sandboxID', 'path', true],
      ['start', 'query', false],
      ['end', 'query', false],
    ]);
    expect(parameters[0]?.schema).toMatchObject({ type: 'string', maxLength: 128 });
  });

  it('tells lists joined by commas from repeated ones, and optional bodies from required ones', () => {
    const list = readOperation(openApiDocument, 'GET /v2/sandboxes');
    expect(list.parameters.filter(({ explode }) => !explode).map(({ name }) => name)).toEqual(['state']);
    expect(list.body).toBeUndefined();
    expect(readOperation(openApiDocument, 'POST /sandboxes').body?.required).toBe(true);
    expect(readOperation(openApiDocument, 'POST /sandboxes/{sandboxID}/pause').body?.required).toBe(false);
  });

  it('has a schema for each JSON answer and none for an empty one', () => {
    const { responses } = readOperation(openApiDocument, 'DELETE /sandboxes/{sandboxID}');
    expect(responses.get(204)).toBeUndefined();
    expect(responses.get(404)).toMatchObject({ required: ['code', 'message'] });
    expect([...responses.keys()]).toEqual([204, 400, 401, 404, 429, 500, 503]);
  });

  it('throws for an operation, a component or a cycle that it cannot resolve', () => {
    const withSchema = (schema: unknown, schemas: Record<string, unknown> = {}) => ({
      paths: {
        '/x': {
          post: {
            operationId: 'x',
            requestBody: { content: { 'application/json': { schema } } },
            responses: {},
          },
        },
      },
      components: { schemas },
    });
    const loop = { type: 'array', items: { $ref: '#/components/schemas/Loop' } };
    expect(() => readOperation(openApiDocument, 'POST /nowhere')).toThrow('no operation POST /nowhere');
    expect(() => readOperation(withSchema({ $ref: '#/components/schemas/Gone' }), 'POST /x')).toThrow(
      'no #/components/schemas/Gone',
    );
    expect(() => readOperation(withSchema(loop, { Loop: loop }), 'POST /x')).toThrow('refers to itself');
  });
});
