import type { MakeTemplateImageRequest } from '../gen/skerry/images/v1/images_pb.ts';
import { type AwsCredentials, loginToEcr } from '../oci/ecr-login.ts';
import { createPublicReach } from '../oci/reach.ts';
import type { RegistryCredentials } from '../oci/registry-auth.ts';

/** What a build may send to a registry: a user name and a password, or an access key of AWS, for which a token is requested. */
export type BuildCredentials =
  | ({ kind: 'password' } & RegistryCredentials)
  | ({ kind: 'aws' } & AwsCredentials);

type Wire = NonNullable<MakeTemplateImageRequest['credentials']>;

/** The credentials in the form of a request. */
export const toWireCredentials = (credentials: BuildCredentials) =>
  credentials.kind === 'aws'
    ? { kind: { case: 'aws' as const, value: pickAws(credentials) } }
    : { kind: { case: 'password' as const, value: pickPassword(credentials) } };

const pickPassword = ({ username, password }: RegistryCredentials): RegistryCredentials => ({
  username,
  password,
});

const pickAws = ({ accessKeyId, secretAccessKey, region }: AwsCredentials): AwsCredentials => ({
  accessKeyId,
  secretAccessKey,
  region,
});

/**
 * The user name and password of a registry, with a new token for an access key of AWS. The request for it goes to a public
 * address, to an allowed authority, or to the endpoint. Rejects as `loginToEcr`.
 */
export const openCredentials = async (
  credentials: Wire | undefined,
  options: {
    isPublicAddress: (address: string) => boolean;
    allowed: readonly string[];
    endpoint: string | undefined;
    signal: AbortSignal;
  },
): Promise<RegistryCredentials | undefined> => {
  const { kind } = credentials ?? {};
  if (kind?.case === 'password') return pickPassword(kind.value);
  if (kind?.case !== 'aws') return undefined;
  const { isPublicAddress, endpoint, signal } = options;
  // The endpoint is allowed for this request alone, and not as a registry.
  const allowed = [...options.allowed, ...(endpoint === undefined ? [] : [new URL(endpoint).host])];
  const reach = createPublicReach({ isPublicAddress, allowed });
  return loginToEcr(pickAws(kind.value), { reach, endpoint, signal });
};
