import { createClient, type Transport } from '@connectrpc/connect';
import { ImagesService } from '../gen/skerry/images/v1/images_pb.ts';
import { toImageFile } from '../image-file.ts';
import type { ImageConfig } from '../oci/image-config.ts';
import { parseReference } from '../oci/reference.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';
import { toUnfinishedFile } from '../template/template-image.ts';
import { readProgress } from './read-progress.ts';

/** The images of templates, in one folder of the process that the transport leads to. */
export interface TemplateImages {
  /** Throws ImageError for what is no image reference. */
  check(reference: string): void;
  /**
   * Makes the image of a template from one of a registry. Rejects with ImageError, the reason of the signal, or what the
   * transport rejects with; the other process may still be cleaning up then.
   */
  make(options: {
    reference: string;
    credentials?: RegistryCredentials | undefined;
    onMessage: (message: string) => void;
    signal: AbortSignal;
  }): Promise<{ digest: string; sizeBytes: number } & ImageConfig>;
  /** Where to write a new image, which `keep` then moves to its place. */
  toUnfinished(name: string): string;
  keep(options: { file: string; digest: string }): Promise<void>;
  /** The path of an image. */
  toPath(digest: string): string;
  /** The digests of all images. Makes the folder, and removes the remains of killed processes; nothing may be in progress. */
  list(): Promise<string[]>;
  /** Idempotent. */
  remove(digest: string): Promise<void>;
}

/**
 * `folder` is an absolute path; it is made when missing. `allowedRegistries` are the authorities, `host[:port]`, that need no public
 * address.
 */
export const createTemplateImages = (
  transport: Transport,
  { folder, allowedRegistries }: { folder: string; allowedRegistries: readonly string[] },
): TemplateImages => {
  const client = createClient(ImagesService, transport);
  return {
    check: (reference) => void parseReference(reference),
    make: async ({ reference, credentials, onMessage, signal }) => {
      const request = {
        folder,
        reference,
        allowedRegistries: [...allowedRegistries],
        ...(credentials && { credentials }),
      };
      let last = '';
      const onProgress = ({ message }: { message: string }): void => {
        // One part of the work reports more than once.
        if (message !== last) onMessage(message);
        last = message;
      };
      const messages = client.makeTemplateImage(request, { signal });
      const image = await readProgress(messages, { onProgress, signal });
      const { digest, sizeBytes, env, user, workdir, entrypoint, command } = image;
      return { digest, sizeBytes: Number(sizeBytes), env, user, workdir, entrypoint, command };
    },
    toUnfinished: (name) => toUnfinishedFile(folder, name),
    keep: async ({ file, digest }) => {
      await client.keepTemplateImage({ folder, file, digest });
    },
    toPath: (digest) => toImageFile(folder, digest),
    list: async () => {
      const digests: string[] = [];
      for await (const { digest } of client.listTemplateImages({ folder })) digests.push(digest);
      return digests;
    },
    remove: async (digest) => {
      await client.removeTemplateImage({ folder, digest });
    },
  };
};
