export {
  type Codec,
  createEnvdClient,
  type EnvdClient,
  type EnvdClientOptions,
  toBasic,
} from './create-envd-client.ts';
export type { components, operations, paths } from './gen/schema.ts';
export { HttpError } from './http-error.ts';
