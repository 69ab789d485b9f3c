/**
 * Program: protobuf-es
 * Does: Writes the descriptors of messages and services into a bundle as they are in memory, and calls `createEmbeddedFileRegistry`
 * and `restoreJsonNames` of protobuf-es, which its package does not export.
 * Why not the promised way: Generated code holds descriptors as a message of descriptor.proto. Reading one takes the schema of that
 * file first: 9 KB of a compressed client, a sixth of the processor time of a first call to the agent, and 0.6 MiB of each idle
 * sandbox. protobuf-es generates nothing else.
 * Source: https://github.com/bufbuild/protobuf-es/blob/v2.17.0/packages/protobuf/src/registry.ts
 * When it no longer fits: The build fails at the missing function; without this plugin all works, in more time and size.
 * Test: lean-bundle.test.ts; the build of the agent also uses it once.
 * Bench row: memory.idle
 */
import { create, type DescMessage, type Message } from '@bufbuild/protobuf';
import { file_google_protobuf_descriptor } from '@bufbuild/protobuf/wkt';
import type { Plugin } from 'rolldown';

/** In generated code, with the names of the files that it imports: `fileDesc("…base64…", [file_…])`. */
const call = /\bfileDesc\("[\w+/=]+"(?:, \[([\w$, ]*)\])?\)/;

/** The module that holds what every literal needs. It exists in the bundle only. */
const shared = '\0literal-descriptors';

/** Writes the descriptors of a schema into the bundle as they are in memory, instead of as a message to be read first. */
export const literalDescriptors = (): Plugin => ({
  name: 'literal descriptors',
  resolveId: (id) => (id === shared ? id : null),
  load: (id) => (id === shared ? { code: toSharedCode(), moduleSideEffects: false } : null),
  transform: {
    filter: { code: call },
    handler: async (code, id) => {
      const found = call.exec(code);
      if (found === null) return null;
      const exported: unknown[] = Object.values(await import(id));
      const file = exported.find(isFile);
      if (file === undefined) throw new Error(`${id} exports no descriptor of a file`);
      const literal = toLiteral(file.proto);
      const used = new Set(literal.match(/\$\w+/g));
      return {
        code: `import { $file, ${[...used].join(', ')} } from ${JSON.stringify(shared)};
${code.replace(call, () => `$file(${literal}, [${found[1] ?? ''}])`)}`,
        map: null,
      };
    },
  },
});

const isFile = (value: unknown): value is { kind: 'file'; proto: Message } =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'file' && 'proto' in value;

/** A function `$Name` for each message of descriptor.proto, which gives a message what it inherits; and `$file`. */
const toSharedCode = (): string => {
  const from = (file: string) =>
    JSON.stringify(new URL(file, import.meta.resolve('@bufbuild/protobuf')).pathname);
  const makers = withNested(file_google_protobuf_descriptor.messages).map(
    (desc) =>
      `export const ${toMaker(desc.typeName)} = /*@__PURE__*/ $maker(${toPlain(defaultsOf(desc))});\n`,
  );
  return `import { createEmbeddedFileRegistry } from ${from('./registry.js')};
import { restoreJsonNames } from ${from('./codegenv2/restore-json-names.js')};
const $maker = (defaults) => (own) => Object.assign(Object.create(defaults), own);
${makers.join('')}export const $file = (root, imports) => {
  root.messageType.forEach(restoreJsonNames);
  return createEmbeddedFileRegistry(root, (name) => imports.find((file) => file.proto.name === name)).getFile(root.name);
};
`;
};

const withNested = (messages: readonly DescMessage[]): DescMessage[] =>
  messages.flatMap((desc) => [desc, ...withNested(desc.nestedMessages)]);

const toMaker = (typeName: string): string =>
  `$${typeName.replace('google.protobuf.', '').replaceAll('.', '_')}`;

/** What a message has before a field is set: its name, empty lists, and the values of scalars that are not set. */
const defaultsOf = (desc: DescMessage): Record<string, unknown> => {
  const message = create(desc);
  return { ...(Object.getPrototypeOf(message) as object), ...message };
};

const toPlain = (fields: Record<string, unknown>): string =>
  `{${Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${toLiteral(value)}`)
    .join(',')}}`;

/** An expression for a value of a descriptor. Of a message it names what is not as it is inherited. */
const toLiteral = (value: unknown): string => {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(toLiteral).join(',')}]`;
  if (value instanceof Uint8Array) return `new Uint8Array([${value.join(',')}])`;
  if (isMessage(value)) {
    const inherited = Object.getPrototypeOf(value) as Record<string, unknown>;
    const own = Object.entries(value).filter(
      ([name, field]) =>
        name !== '$typeName' &&
        !(name === 'label' && field === inherited.label) &&
        !(Array.isArray(field) && field.length === 0) &&
        !isGivenName(value, name),
    );
    return `/*@__PURE__*/ ${toMaker(value.$typeName)}(${toPlain(Object.fromEntries(own))})`;
  }
  const text = typeof value === 'object' && value !== null ? undefined : JSON.stringify(value);
  if (text === undefined) throw new Error(`a descriptor holds ${Object.prototype.toString.call(value)}`);
  return text;
};

const isMessage = (value: unknown): value is Message & Record<string, unknown> =>
  typeof value === 'object' && value !== null && '$typeName' in value;

/** Whether `restoreJsonNames` gives a field the same name. */
const isGivenName = (message: Record<string, unknown>, field: string): boolean =>
  field === 'jsonName' && message.jsonName === toJsonName(String(message.name));

/** Left as it is where the rule is not plain: such a name is written out. */
const toJsonName = (name: string): string | undefined =>
  /^[a-z]+(_[a-z]+)*$/.test(name)
    ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    : undefined;
