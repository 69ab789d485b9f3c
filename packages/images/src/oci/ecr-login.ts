import { ImageError } from '../image-error.ts';
import { ask, toRefusalCode } from './ask.ts';
import type { Reach } from './reach.ts';
import { readLimited } from './read-body.ts';
import type { RegistryCredentials } from './registry-auth.ts';

/** An access key for the API of Amazon ECR in a region. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

const ANSWER_BYTES = 64 << 10;

/**
 * Requests a token for the private registries of ECR that the owner of an access key may read, by `GetAuthorizationToken`. `endpoint` is
 * the URL of the API, by default that of AWS for the region. Rejects as a registry does, with no part of the secret.
 */
export async function loginToEcr(
  { accessKeyId, secretAccessKey, region }: AwsCredentials,
  options: { reach: Reach; endpoint?: string | undefined; signal?: AbortSignal | undefined },
): Promise<RegistryCredentials> {
  const { reach, signal } = options;
  const url = new URL(options.endpoint ?? toEndpoint(region));
  const body = '{}';
  // Few builds need it.
  const { AwsV4Signer } = await import('aws4fetch');
  const { headers } = await new AwsV4Signer({
    url: url.href,
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken',
    },
    ...{ body, accessKeyId, secretAccessKey, region, service: 'ecr' },
  }).sign();
  const response = await ask(url, { reach, headers: Object.fromEntries(headers), body, signal });
  const { status } = response;
  const answer = await readLimited(response.body, { origin: url.host, signal, limitBytes: ANSWER_BYTES });
  const document = parseObject(answer.toString('utf8'));
  if (!response.ok) {
    const message = `${url.host} issues no token for the AWS credentials: ${status}${readErrorType(document)}`;
    throw new ImageError(toRefusalCode(status), message);
  }
  return parseToken(document, url.host);
}

/** The region is a label of a DNS name. */
const toEndpoint = (region: string): string =>
  `https://api.ecr.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;

/** The kind of the error alone: AWS puts parts of the request into its message. */
const readErrorType = ({ __type: type }: Record<string, unknown>): string => {
  const name = typeof type === 'string' ? /^(?:.*#)?([A-Za-z]{1,100})$/.exec(type)?.[1] : undefined;
  return name === undefined ? '' : ` ${name}`;
};

const parseToken = ({ authorizationData }: Record<string, unknown>, host: string): RegistryCredentials => {
  const [data] = Array.isArray(authorizationData) ? (authorizationData as unknown[]) : [];
  const { authorizationToken: token } = toObject(data);
  const [, username, password] =
    typeof token === 'string'
      ? (/^([^:]+):(.+)$/s.exec(Buffer.from(token, 'base64').toString('utf8')) ?? [])
      : [];
  if (username === undefined || password === undefined)
    throw new ImageError('corrupt', `${host} issues no token`);
  return { username, password };
};

const toObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const parseObject = (text: string): Record<string, unknown> => {
  try {
    return toObject(JSON.parse(text));
  } catch {
    // The answer of something that is not ECR.
    return {};
  }
};
