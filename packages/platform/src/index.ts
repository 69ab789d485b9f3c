export { ensureApiKey, ensureSecret } from './api-key.ts';
export { createPlatform, type Platform, type PlatformOptions } from './app.ts';
export { type Clock, createSystemClock } from './clock.ts';
export type { Ids } from './ids.ts';
export { defaultLimits, type Limits } from './limits.ts';
export type { Log, LogFields } from './log.ts';
export { createStore } from './store/sqlite.ts';
export type { Store } from './store/store.ts';
export { type TemplateImages, UnusableImageError } from './templates/template-images.ts';
