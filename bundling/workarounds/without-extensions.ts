/**
 * Program: protobuf-es
 * Does: Leaves the extensions of protobuf-es, and the reflection that they need, out of the JSON of a bundle.
 * Why not the promised way: Reading and writing JSON imports them, for messages of a registry that the caller gives. The clients give
 * none, and no field of the agent's protocol is an extension, but no bundler can know: 2 KB compressed. protobuf-es has no entry
 * without them.
 * Source: https://github.com/bufbuild/protobuf-es/blob/v2.17.0/packages/protobuf/src/to-json.ts
 * When it no longer fits: The build fails at a function that this does not have, or the check of sizes fails.
 * Test: lean-bundle.test.ts
 */
import type { Plugin } from 'rolldown';

const absent = '\0no-extensions';
const code = `const absent = () => { throw new Error('this client was built without extensions of protocol buffers'); };
export { absent as createExtensionContainer, absent as getExtension, absent as setExtension };
`;

export const withoutExtensions = (): Plugin => ({
  name: 'without extensions',
  resolveId: (id, importer) =>
    id === './extensions.js' && /\/@bufbuild\/protobuf\/.*\/(from|to)-json\.js$/.test(importer ?? '')
      ? absent
      : null,
  load: (id) => (id === absent ? { code, moduleSideEffects: false } : null),
});
