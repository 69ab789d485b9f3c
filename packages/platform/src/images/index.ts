export { type BaseImage, type BaseImageOptions, ensureBaseImage } from './base-image.ts';
export { ImageError, type ImageErrorCode } from './image-error.ts';
export type { OnProgress, Progress } from './progress.ts';
