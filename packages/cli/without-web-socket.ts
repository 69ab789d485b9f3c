import { createRequire } from 'node:module';
import type { Plugin } from 'rolldown';

const ID = '\0node:http';

/**
 * Bundles imports of `node:http` as reads of what `process.getBuiltinModule` returns. Node fills an import of a built-in module with all
 * that it exports, and for the `WebSocket` of `node:http` loads the code of `fetch`, which takes longer than the start of Node itself.
 */
export const withoutWebSocket: Plugin = {
  name: 'without-web-socket',
  resolveId: (id) => (id === 'node:http' ? { id: ID, moduleSideEffects: false } : null),
  load(id) {
    if (id !== ID) return null;
    const exported = Object.getOwnPropertyDescriptors(createRequire(import.meta.url)('node:http') as object);
    const names = Object.entries(exported).flatMap(([name, { get }]) => (get === undefined ? [name] : []));
    return `export const { ${names.join(', ')} } = process.getBuiltinModule('node:http');`;
  },
};
