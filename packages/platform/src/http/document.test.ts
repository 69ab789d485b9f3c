import { describe, expect, it } from 'vitest';
import { documentPaths, readOperation } from './document.ts';

describe('readOperation', () => {
  it('joins the parameters of the path and of the operation, references among them', () => {
    const { operationId, parameters } = readOperation('GET /sandboxes/{sandboxID}/metrics');
    expect(operationId).toBe('getSandboxMetrics');
    expect(parameters.map(({ name, in: part, required }) => [name, part, required])).toEqual([
      ['sandboxID', 'path', true],
      ['start', 'query', false],
      ['end', 'query', false],
    ]);
    expect(parameters[0]?.schema).toMatchObject({ type: 'string', maxLength: 128 });
  });

  it('distinguishes lists joined by commas from repeated ones, and optional bodies from required ones', () => {
    const list = readOperation('GET /v2/sandboxes');
    expect(list.parameters.filter(({ explode }) => !explode).map(({ name }) => name)).toEqual(['state']);
    expect(list.body).toBeUndefined();
    expect(readOperation('POST /sandboxes').body?.required).toBe(true);
    expect(readOperation('POST /sandboxes/{sandboxID}/pause').body?.required).toBe(false);
  });

  it('has a schema for each JSON response and none for an empty one', () => {
    const { responses } = readOperation('DELETE /sandboxes/{sandboxID}');
    expect(responses.get(204)).toBeUndefined();
    expect(responses.get(404)).toMatchObject({ required: ['code', 'message'] });
    expect([...responses.keys()]).toEqual([204, 400, 401, 403, 404, 429, 500, 502, 503]);
  });

  it('throws for an operation that the document lacks', () => {
    expect(() => readOperation('POST /nowhere')).toThrow('no operation POST /nowhere');
  });
});

it('has no references to follow, and no texts', () => {
  const text = JSON.stringify(documentPaths);
  expect(text).not.toContain('"$ref"');
  expect(text).not.toContain('"description":"');
});
