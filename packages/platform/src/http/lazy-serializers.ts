import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifyInstance } from 'fastify';

/**
 * Compiles what writes the answers of an operation when the first of them is written, not when the server starts: there are many
 * schemas, and compiling all took a tenth of the start.
 */
export const compileSerializersLate = (server: FastifyInstance): void => {
  const compile = SerializerSelector()();
  server.setSerializerCompiler((route) => {
    let serialize: ReturnType<typeof compile> | undefined;
    return (body) => {
      serialize ??= compile({ ...route, httpStatus: route.httpStatus ?? '' });
      return serialize(body);
    };
  });
};
