export type { BaseImageOptions } from './base/base-image.ts';
export type { BaseImage } from './base/manifest.ts';
export type { NpmClient } from './base/npm-client.ts';
export type { OnProgress, Progress } from './base/progress.ts';
export { ImageError, type ImageErrorCode } from './image-error.ts';
export { forwardImagesService } from './service/forward-images.ts';
export { requestBaseImage } from './service/request-base-image.ts';
export { createTemplateImages, type TemplateImagesOptions } from './service/request-template-images.ts';
export { type ImageFiles, openImageFiles } from './transfer/image-files.ts';
