export {
  createPlatformClient,
  type PlatformClient,
  type PlatformClientOptions,
} from './create-platform-client.ts';
export type { components, operations, paths } from './gen/schema.ts';
export type * from './gen/types.ts';
