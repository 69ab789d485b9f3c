import { type ConnectRouter, createClient, type Transport } from '@connectrpc/connect';
import { ImagesService } from '../gen/skerry/images/v1/images_pb.ts';

/**
 * Adds to the services of a router what a server on another machine needs to build templates here: the process that the transport
 * leads to answers. It does not get the calls that read or write beside the folder of templates.
 */
export const forwardImagesService = (router: ConnectRouter, transport: Transport): void => {
  const helper = createClient(ImagesService, transport);
  router.service(ImagesService, {
    makeTemplateImage: (request, { signal }) => helper.makeTemplateImage(request, { signal }),
    resolveTemplateImage: (request, { signal }) => helper.resolveTemplateImage(request, { signal }),
    keepTemplateImage: (request, { signal }) => helper.keepTemplateImage(request, { signal }),
    listTemplateImages: (request, { signal }) => helper.listTemplateImages(request, { signal }),
    removeTemplateImage: (request, { signal }) => helper.removeTemplateImage(request, { signal }),
  });
};
