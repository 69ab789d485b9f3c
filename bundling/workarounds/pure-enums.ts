/**
 * Program: protobuf-es
 * Does: Marks the enums of compiled TypeScript as free of side effects, so that a bundle holds only those that are used.
 * Why not the promised way: `export var X; (function (X) { … })(X || (X = {}))` is a statement that no bundler may drop. protobuf-es
 * has twenty such enums beside the one that a client needs: 1.5 KB compressed. TypeScript has no option to write them otherwise.
 * Source: https://github.com/microsoft/TypeScript/issues/27604
 * When it no longer fits: The pattern matches nothing, and the check of sizes fails.
 * Test: lean-bundle.test.ts
 */
import type { Plugin } from 'rolldown';

const declaration =
  /^export var (\w+);\n(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?\(function \(\1\) \{\n([\s\S]*?)^\}\)\(\1 \|\| \(\1 = \{\}\)\);/gm;

export const toPureEnums = (code: string): string =>
  code.replace(
    declaration,
    (_, name: string, body: string) =>
      `export const ${name} = /*@__PURE__*/ (function (${name}) {\n${body}    return ${name};\n})({});`,
  );

export const pureEnums = (): Plugin => ({
  name: 'pure enums',
  transform: {
    filter: { code: /^export var /m },
    handler: (code) => ({ code: toPureEnums(code), map: null }),
  },
});
