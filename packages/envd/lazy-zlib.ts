import type { Plugin } from 'rolldown';

const names = ['gzip', 'gunzip', 'brotliCompress', 'brotliDecompress'];
const id = '\0lazy-zlib';

/** Loads `node:zlib` at the first message that is compressed: connect-node imports it for all, and few are. */
export const lazyZlib = (): Plugin => ({
  name: 'lazy zlib',
  resolveId: (source, importer) =>
    /^(node:)?zlib$/.test(source) && importer?.includes('/connect-node/') ? id : null,
  load: (loaded) =>
    loaded === id
      ? names
          .map(
            (name) =>
              `export const ${name} = (...args) => process.getBuiltinModule('node:zlib').${name}(...args);`,
          )
          .join('\n')
      : null,
});
