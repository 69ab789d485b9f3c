import { unimplemented } from '@skerry/contract/error';
import type { TemplateImages } from '../images/template-images.ts';
import type { BuildRow } from '../store/build-rows.ts';

/**
 * The path of the image of a build, or of the installation without one. Throws `unimplemented` where the images of
 * builds cannot be used.
 */
export const createToRootfs =
  ({ base, templates }: { base: { rootfs: string }; templates?: TemplateImages | undefined }) =>
  (build: Pick<BuildRow, 'image'> | null): string => {
    if (build === null) return base.rootfs;
    // A build that was deleted since it was found: the reservation of a place refuses it.
    if (build.image === null) return base.rootfs;
    if (templates) return templates.toPath(build.image);
    throw unimplemented('the runtime of this server cannot use templates that were built');
  };
