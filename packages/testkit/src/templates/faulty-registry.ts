import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Sends the answer to that request for a document, from 1, and returns true; otherwise the answer is all of it. */
export type Answer = (response: ServerResponse, count: number) => boolean;

/** A layer as a test wants it. What the manifest says of it is true unless it is given. */
export interface ServedLayer {
  bytes: Buffer;
  /** Default: a tar archive that is not compressed. */
  mediaType?: string;
  digest?: string;
  size?: number;
  answer?: Answer;
}

export interface ServedImage {
  layers?: readonly ServedLayer[];
  /** In the place of that of the layers. */
  manifest?: object;
  /** The answer to a request for its manifest. */
  answer?: Answer;
}

/** A registry on loopback that serves what it was given, however damaged. */
export interface FaultyRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Serves an image as `{name}:latest`, and returns its reference. */
  serve(name: string, image: ServedImage): string;
}

export const tarType = 'application/vnd.oci.image.layer.v1.tar';

/** Starts it without images. */
export async function startFaultyRegistry(): Promise<FaultyRegistry> {
  const documents = new Map<string, { body: Buffer; answer: Answer | undefined; count: number }>();
  const server = createServer(({ url = '' }, response) => {
    const document = documents.get(url);
    if (document === undefined) {
      response.writeHead(404).end();
      return;
    }
    document.count += 1;
    if (!document.answer?.(response, document.count)) response.end(document.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    host,
    serve: (name, { layers = [], manifest, answer }) => {
      const described = layers.map(
        ({ bytes, mediaType = tarType, digest = toDigest(bytes), size = bytes.length, answer: ofLayer }) => {
          documents.set(`/v2/${name}/blobs/${digest}`, { body: bytes, answer: ofLayer, count: 0 });
          return { mediaType, digest, size };
        },
      );
      const body = Buffer.from(JSON.stringify(manifest ?? { schemaVersion: 2, layers: described }));
      documents.set(`/v2/${name}/manifests/latest`, { body, answer, count: 0 });
      return `${host}/${name}`;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const toDigest = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
