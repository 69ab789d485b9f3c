export {
  type Codec,
  createEnvdClient,
  createServiceClient,
  type EnvdClient,
  type EnvdClientOptions,
  type ServiceClient,
  type ServiceClientOptions,
  toBasic,
} from './create-envd-client.ts';
export type { components, operations, paths } from './gen/schema.ts';
export type * from './gen/types.ts';
export { HttpError } from './http-error.ts';
export { createSignature, type SignatureInput } from './signature.ts';
