import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** Most bytes that a client may add to a web page, compressed with gzip. */
export const limits = { sdk: 46_000, 'envd-client': 36_000, 'platform-client': 3_000 };

export type Client = keyof typeof limits;

/** Size of a program that imports everything of a module: bundled for browsers, minified and compressed. */
export async function measureBundle(entry: string): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
    outdir: 'out',
  });
  return outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

/** A line for each client that is larger than it may be. */
export function findTooLarge(sizes: Record<Client, number>): string[] {
  return (Object.keys(limits) as Client[])
    .filter((client) => sizes[client] > limits[client])
    .map(
      (client) =>
        `@skerry/${client} has ${sizes[client]} bytes in a browser, ${sizes[client] - limits[client]} too many`,
    );
}
