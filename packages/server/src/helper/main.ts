// The helper: what starts programs and needs rights of its own, behind one socket. The packages that do so do not know
// each other.
import { addImagesService } from '@skerry/images/service';
import { makeFileSystemImage, runHelper, sealFolderImage } from '@skerry/runtime/helper';
import { withFolderLock } from '@skerry/runtime/kernel';
import { isPublicAddress } from '@skerry/runtime/network';
import { readSpareRoom } from '@skerry/runtime/room';
import { findLocations } from '../locations.ts';

const addServices: Parameters<typeof runHelper>[0]['addServices'] = (router) =>
  addImagesService(router, {
    withFolderLock,
    makeImageFile: makeFileSystemImage,
    sealImageFolder: sealFolderImage,
    readSpareRoom,
    unpackerProgram: findLocations().unpackerProgram,
    isPublicAddress,
  });

const { gatewayProgram } = findLocations();
process.exit(await runHelper({ argv: process.argv.slice(2), addServices, gatewayProgram }));
