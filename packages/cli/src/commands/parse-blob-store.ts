import { isAbsolute } from 'node:path';
import type { BlobStoreChoice } from '@skerry/server/nodes-server';
import { InvalidArgumentError } from 'commander';

/**
 * Parses an absolute path, or `s3://BUCKET?region=…&endpoint=…`. Credentials are refused here, since every user of the machine sees the
 * arguments of a process.
 */
export function parseBlobStore(text: string): BlobStoreChoice {
  if (isAbsolute(text)) return { kind: 'folder', folder: text };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 's3:' || url.hostname === '')
    throw new InvalidArgumentError('It must be an absolute path or s3://BUCKET.');
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('Credentials belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.');
  const others = [...url.searchParams.keys()].filter((name) => name !== 'region' && name !== 'endpoint');
  if (others.length > 0 || (url.pathname !== '' && url.pathname !== '/') || url.port !== '')
    throw new InvalidArgumentError('A bucket has no path, and only ?region= and ?endpoint= after it.');
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:\/\//.test(endpoint))
    throw new InvalidArgumentError('The endpoint must be an http or https URL.');
  const region = url.searchParams.get('region') ?? 'us-east-1';
  return { kind: 's3', bucket: url.hostname, region, ...(endpoint !== null && { endpoint }) };
}
