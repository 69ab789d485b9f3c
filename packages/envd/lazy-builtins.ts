import type { Plugin } from 'rolldown';

/** Modules of Node whose load takes longer than that of what calls them, and which of the importers are passed another. */
const importers: Readonly<Record<string, RegExp>> = {
  // Imported for messages that are compressed, and few are.
  'node:zlib': /\/connect-node\//,
  'node:fs/promises': /./,
  'node:timers/promises': /./,
};
const prefix = '\0lazy ';

/**
 * Loads some modules of Node at the first call of one of their functions, instead of in each new sandbox. Of those only
 * functions can be imported.
 */
export const lazyBuiltins = (): Plugin => ({
  name: 'lazy builtins',
  resolveId: (source, importer = '') => {
    const name = source.startsWith('node:') ? source : `node:${source}`;
    return importers[name]?.test(importer) ? prefix + name : null;
  },
  load: async (id) => {
    if (!id.startsWith(prefix)) return null;
    const name = id.slice(prefix.length);
    const exported = Object.entries((await import(name)) as object);
    const functions = exported.filter(([key, value]) => key !== 'default' && typeof value === 'function');
    return functions
      .map(
        ([key]) => `export const ${key} = (...args) => process.getBuiltinModule('${name}').${key}(...args);`,
      )
      .join('\n');
  },
});
