import { describe, expect, it } from 'vitest';
import { createAnswerCheck } from './answer-check.ts';

const check = createAnswerCheck();
const find = (method: string, url: string, headers: Record<string, string> = {}) =>
  check.find({ method, url, headers: { host: 'localhost:4000', ...headers } });
const agent = { host: '49983-i1.localhost:4000' };

/** What is wrong with an answer to an operation. */
const judge = (
  operation: ReturnType<typeof find>,
  { status = 200, headers = {}, body = '' }: { status?: number; headers?: object; body?: string },
) => {
  if (operation === undefined) throw new Error('the document has no such operation');
  const json = { 'content-type': 'application/json', 'x-request-id': '1' };
  const answer = { status, headers: { ...json, ...headers }, body: Buffer.from(body), isHead: false };
  return check.findProblem(operation, answer);
};

describe('the check of answers', () => {
  it('finds the operation of a request by its path and by whom it is for', () => {
    expect(find('GET', '/v2/sandboxes?limit=1')?.key).toBe('GET /v2/sandboxes');
    expect(find('GET', '/sandboxes/metrics')?.key).toBe('GET /sandboxes/metrics');
    expect(find('DELETE', '/templates/team%2Fa:b')?.key).toBe('DELETE /templates/{templateID}');
    expect(find('HEAD', '/files?path=x', agent)?.key).toBe('GET /files');
    expect(find('GET', '/files')).toBeUndefined();
    expect(find('GET', '/sandboxes', agent)).toBeUndefined();
    expect(find('GET', '/files', { host: '3000-i1.localhost' })).toBeUndefined();
    expect(find('PUT', '/v2/sandboxes')).toBeUndefined();
  });

  it('allows what the document declares', () => {
    const error = JSON.stringify({ code: 401, message: 'no' });
    expect(judge(find('GET', '/sandboxes'), { body: '[]' })).toBeUndefined();
    expect(judge(find('GET', '/sandboxes'), { status: 401, body: error })).toBeUndefined();
    expect(judge(find('DELETE', '/sandboxes/i1'), { status: 204 })).toBeUndefined();
  });

  it.each([
    [{ status: 418, body: '{}' }, 'status 418'],
    [{ headers: { 'x-secret': '1' }, body: '[]' }, 'with the header x-secret'],
    [{ headers: { 'content-type': 'text/html' }, body: '<p>' }, 'a body of type "text/html"'],
    [{ body: '[{}]' }, 'must have required property'],
    [{ status: 401, body: '{"message":"no"}' }, "required property 'code'"],
  ])('reports an answer that the document lacks: %j', (answer, problem) => {
    expect(judge(find('GET', '/sandboxes'), answer)).toContain(problem);
  });
});
