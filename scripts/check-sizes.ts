// Fails when a client is larger in a web page than it may be. Needs the built packages.
import { join } from 'node:path';
import { type Client, findTooLarge, limits, measureBundle } from '../bundling/client-sizes.ts';

const sizes = Object.fromEntries(
  await Promise.all(
    (Object.keys(limits) as Client[]).map(async (client) => {
      const entry = join(import.meta.dirname, '../packages', client, 'dist/index.js');
      return [client, await measureBundle(entry)] as const;
    }),
  ),
) as Record<Client, number>;
for (const client of Object.keys(limits) as Client[]) {
  console.log(`@skerry/${client}: ${sizes[client]} of ${limits[client]} bytes`);
}
const tooLarge = findTooLarge(sizes);
for (const line of tooLarge) console.error(line);
process.exit(tooLarge.length === 0 ? 0 : 1);
