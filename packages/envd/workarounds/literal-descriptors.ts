/**
 * Does: Writes the descriptors of the services into the bundle as they are in memory, and calls `createEmbeddedFileRegistry` of
 * protobuf-es, which its package does not export.
 * Why not the promised way: Generated code holds descriptors as a message of descriptor.proto. Reading one takes the schema of that
 * file first: a sixth of the processor time of a first call, and 0.6 MiB of each idle sandbox. protobuf-es generates nothing else.
 * Source: https://github.com/bufbuild/protobuf-es/blob/v2.17.0/packages/protobuf/src/registry.ts
 * When it no longer fits: The build fails at the missing function; without this plugin all works, in more time.
 * Test: The build uses the agent once, so a wrong descriptor fails it.
 * Bench row: memory.idle
 */
import type { Plugin } from 'rolldown';

/** In generated code, with the names of the files that it imports: `fileDesc("…base64…", [file_…])`. */
const call = /\bfileDesc\("[\w+/=]+"(?:, \[([\w$, ]*)\])?\)/;

const registry = new URL('./registry.js', import.meta.resolve('@bufbuild/protobuf')).pathname;

/**
 * Writes the descriptors of a schema into the bundle as they are in memory. Generated code holds them as a message of
 * descriptor.proto: reading those takes the schema of that file first, and half of the time until the calls are loaded.
 */
export const literalDescriptors = (): Plugin => ({
  name: 'literal descriptors',
  transform: {
    filter: { code: call },
    handler: async (code, id) => {
      const found = call.exec(code);
      if (found === null) return null;
      const exported: unknown[] = Object.values(await import(id));
      const file = exported.find(isFile);
      if (file === undefined) throw new Error(`${id} exports no descriptor of a file`);
      const defaults: string[] = [];
      const literal = toLiteral(file.proto, defaults);
      const prelude = `import { createEmbeddedFileRegistry as $createRegistry } from ${JSON.stringify(registry)};
const $defaults = [${defaults.join(',')}];
const $message = (of, own) => Object.assign(Object.create($defaults[of]), own);
const $file = (root, imports) =>
  $createRegistry(root, (name) => imports.find((file) => file.proto.name === name)).getFile(root.name);
`;
      return {
        code: prelude + code.replace(call, () => `$file(${literal}, [${found[1] ?? ''}])`),
        map: null,
      };
    },
  },
});

const isFile = (value: unknown): value is { kind: 'file'; proto: object } =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'file' && 'proto' in value;

/** An expression for a message; what it inherits, the values of fields that are not set, goes into `defaults` once. */
const toLiteral = (value: unknown, defaults: string[]): string => {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map((each) => toLiteral(each, defaults)).join(',')}]`;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) {
    const text = ArrayBuffer.isView(value) ? undefined : JSON.stringify(value);
    if (text === undefined) throw new Error(`a descriptor holds a ${typeof value}`);
    return text;
  }
  const own = toFields(value, defaults);
  const inherited: unknown = Object.getPrototypeOf(value);
  if (typeof inherited !== 'object' || inherited === null || inherited === Object.prototype) return own;
  const text = toFields(inherited, defaults);
  if (!defaults.includes(text)) defaults.push(text);
  return `$message(${defaults.indexOf(text)},${own})`;
};

const toFields = (value: object, defaults: string[]): string =>
  `{${Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => `${JSON.stringify(name)}:${toLiteral(field, defaults)}`)
    .join(',')}}`;
