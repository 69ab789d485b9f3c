import { describe, expect, it } from 'vitest';
import { ApiError, invalid, notFound, toApiError, toErrorBody, toErrorHeaders } from './error.ts';

describe('ApiError', () => {
  it('maps each code to its HTTP status and Connect code', () => {
    expect(invalid('x')).toMatchObject({ code: 'invalid_argument', status: 400, connectCode: 3 });
    expect(notFound('x')).toMatchObject({ code: 'not_found', status: 404, connectCode: 5 });
    expect(new ApiError('outcome_unknown', 'x')).toMatchObject({ status: 422, connectCode: 2 });
    expect(new ApiError('insufficient_storage', 'x')).toMatchObject({ status: 507, connectCode: 8 });
    expect(new ApiError('sandbox_unavailable', 'x')).toMatchObject({ status: 502, connectCode: 14 });
  });

  it('keeps the cause and the headers of the answer', () => {
    const cause = new Error('disk on fire');
    const error = new ApiError('resource_exhausted', 'slow down', { cause, headers: { 'Retry-After': '3' } });
    expect(error.cause).toBe(cause);
    expect(error.headers).toEqual({ 'Retry-After': '3' });
  });
});

describe('toErrorBody', () => {
  it('repeats the status as the numeric code', () => {
    expect(toErrorBody(notFound('sandbox "i1" was not found'))).toEqual({
      code: 404,
      message: 'sandbox "i1" was not found',
    });
  });

  it('adds an error_code to every 503, since clients retry on it', () => {
    expect(toErrorBody(new ApiError('unavailable', 'cut off'))).toEqual({
      code: 503,
      message: 'cut off',
      error_code: 'temporarily_unavailable',
    });
  });

  it('adds the reason as error_code', () => {
    expect(
      toErrorBody(new ApiError('unavailable', 'full', { reason: 'sandbox_capacity_unavailable' })),
    ).toEqual({
      code: 503,
      message: 'full',
      error_code: 'sandbox_capacity_unavailable',
    });
  });

  it('hides the message of an unexpected error', () => {
    expect(toErrorBody(new Error('password is hunter2'))).toEqual({
      code: 500,
      message: 'internal server error',
    });
    expect(toErrorBody('thrown text')).toEqual({ code: 500, message: 'internal server error' });
  });
});

describe('toApiError', () => {
  it('keeps an unexpected error as the cause', () => {
    const error = new TypeError('undefined is not a function');
    expect(toApiError(error).cause).toBe(error);
  });
});

describe('toErrorHeaders', () => {
  it('has Retry-After for each 429 and 503, and that of the error where it has one', () => {
    expect(toErrorHeaders(new ApiError('unavailable', 'full'))).toEqual({ 'Retry-After': '1' });
    expect(toErrorHeaders(new ApiError('resource_exhausted', 'too fast'))).toEqual({ 'Retry-After': '1' });
    const slow = new ApiError('unavailable', 'slow', { headers: { 'Retry-After': '9', Allow: 'GET' } });
    expect(toErrorHeaders(slow)).toEqual({ 'Retry-After': '9', Allow: 'GET' });
    expect(toErrorHeaders(notFound('x'))).toEqual({});
    expect(toErrorHeaders(new Error('x'))).toEqual({});
  });
});
