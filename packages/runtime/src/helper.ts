// What the program of the helper is made of. No other program may start sandboxes or write images.

export { makeFileSystemImage } from './drivers/file-system-image.ts';
export { sealFolderImage } from './drivers/folder-image.ts';
export { runHelper } from './remote/run-helper.ts';
