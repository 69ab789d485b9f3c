import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Handlers, RouteKey, RouteReply, RouteRequest } from './routes.ts';

interface Thing {
  id: string;
  size?: number;
}

/** In the form that openapi-typescript writes. */
interface Paths {
  '/things': {
    parameters: { query?: never; header?: never; path?: never; cookie?: never };
    get: {
      parameters: { query?: { limit?: number }; header?: never; path?: never; cookie?: never };
      requestBody?: never;
      responses: {
        200: {
          headers: { 'X-Next-Token'?: string; [name: string]: unknown };
          content: { 'application/json': Thing[] };
        };
        400: { headers: { [name: string]: unknown }; content: { 'application/json': { code: number } } };
      };
    };
    put?: never;
    post: {
      parameters: { query?: never; header?: never; path?: never; cookie?: never };
      requestBody: { content: { 'application/json': Thing } };
      responses: { 201: { headers: { [name: string]: unknown }; content: { 'application/json': Thing } } };
    };
  };
  '/things/{id}': {
    parameters: { query?: never; header?: never; path: { id: string }; cookie?: never };
    get?: never;
    delete: {
      parameters: { query?: never; header?: never; path: { id: string }; cookie?: never };
      requestBody?: { content: { 'application/json': { force?: boolean } } };
      responses: { 204: { headers: { [name: string]: unknown }; content?: never } };
    };
  };
}

interface Caller {
  team: string;
}

const handlers: Handlers<Paths, Caller> = {
  'GET /things': ({ query, context }) => ({
    status: 200,
    body: [{ id: context.team, size: query.limit ?? 1 }],
    headers: { 'X-Next-Token': 'x' },
  }),
  'POST /things': async ({ body }) => ({ status: 201, body }),
  'DELETE /things/{id}': () => ({ status: 204 }),
};

type Get = Paths['/things']['get'];
type Post = Paths['/things']['post'];
type Delete = Paths['/things/{id}']['delete'];

describe('Handlers', () => {
  it('has one key for each operation of the document', () => {
    expectTypeOf<RouteKey<Paths>>().toEqualTypeOf<'GET /things' | 'POST /things' | 'DELETE /things/{id}'>();
    expect(Object.keys(handlers)).toHaveLength(3);
  });

  it('passes handlers the parameters and the body of their operation', () => {
    expectTypeOf<RouteRequest<Get, Caller>['query']>().toEqualTypeOf<{ limit?: number }>();
    expectTypeOf<RouteRequest<Get, Caller>['body']>().toEqualTypeOf<undefined>();
    expectTypeOf<RouteRequest<Get, Caller>['context']>().toEqualTypeOf<Caller>();
    expectTypeOf<RouteRequest<Post, Caller>['body']>().toEqualTypeOf<Thing>();
    expectTypeOf<RouteRequest<Delete, Caller>['params']>().toEqualTypeOf<{ id: string }>();
    expectTypeOf<RouteRequest<Delete, Caller>['body']>().toEqualTypeOf<{ force?: boolean } | undefined>();
  });

  it('refuses a missing handler', () => {
    const { 'POST /things': _, ...rest } = handlers;
    // @ts-expect-error POST /things is missing
    const incomplete: Handlers<Paths, Caller> = rest;
    expect(Object.keys(incomplete)).toHaveLength(2);
  });

  it('refuses a status, a body, a header or a key that the document does not declare', () => {
    // @ts-expect-error 202 is not declared
    const status: RouteReply<Get> = { status: 202, body: [] };
    // @ts-expect-error an id is missing
    const body: RouteReply<Post> = { status: 201, body: { size: 3 } };
    // @ts-expect-error 201 has a body
    const missing: RouteReply<Post> = { status: 201 };
    // @ts-expect-error 204 has none
    const extra: RouteReply<Delete> = { status: 204, body: {} };
    // @ts-expect-error X-Total is not declared
    const header: RouteReply<Get> = { status: 200, body: [], headers: { 'X-Total': 3 } };
    // @ts-expect-error there is no such operation
    const key: Handlers<Paths, Caller> = { ...handlers, 'PATCH /things': () => ({ status: 204 }) };
    expect([status, body, missing, extra, header, key]).toHaveLength(6);
  });
});
