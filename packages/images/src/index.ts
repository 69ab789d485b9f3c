export { type BaseImage, type BaseImageOptions, ensureBaseImage } from './base/base-image.ts';
export type { OnProgress, Progress } from './base/progress.ts';
export { ImageError, type ImageErrorCode } from './image-error.ts';
