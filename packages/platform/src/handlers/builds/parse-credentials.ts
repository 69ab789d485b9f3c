import type { components } from '@skerry/platform-client';
import type { RegistryCredentials } from '../../images/template-images.ts';
import type { ToProblem } from './build-problem.ts';

type Registry = components['schemas']['ImageRegistry'];
type Kind = NonNullable<Registry['type']>;
type Field = Exclude<keyof Registry, 'type'>;

const fieldsOf: Readonly<Record<Kind, readonly Field[]>> = {
  registry: ['username', 'password'],
  aws: ['awsAccessKeyId', 'awsSecretAccessKey', 'awsRegion'],
  gcp: ['serviceAccountJson'],
};

/** The user name with which Artifact Registry takes the key of a service account as password. */
const GCP_KEY_USER = '_json_key';
/** The form that the API of IAM documents. */
const accessKeyIdPattern = /^\w{16,128}$/;
/** The region becomes a part of a host name. */
const regionPattern = /^[a-z0-9]+(?:-[a-z0-9]+)+$/;
const MAX_REGION_LENGTH = 40;

/**
 * Parses the credentials for an image, whose shape was checked against the document. Throws the problem of a field that is
 * missing, malformed or of another type, with no part of its value.
 */
export const parseCredentials = (registry: Registry, problem: ToProblem): RegistryCredentials => {
  // Without a type, the document says, the fields of AWS apply.
  const { type = 'aws', ...values } = registry;
  for (const name of Object.keys(values))
    if (!fieldsOf[type].some((own) => own === name) && isField(name))
      throw problem(toField(name), `does not go with type "${type}"`);
  const take = (name: Field): string => {
    const value = values[name];
    if (value === undefined || value === '') throw problem(FIELD, `must have ${fieldsOf[type].join(', ')}`);
    return value;
  };
  switch (type) {
    case 'registry':
      return { kind: 'password', username: take('username'), password: take('password') };
    case 'gcp': {
      const key = take('serviceAccountJson');
      if (!isObject(key))
        throw problem(toField('serviceAccountJson'), 'must be the key of a service account in JSON');
      return { kind: 'password', username: GCP_KEY_USER, password: key };
    }
    case 'aws': {
      const accessKeyId = take('awsAccessKeyId');
      const secretAccessKey = take('awsSecretAccessKey');
      const region = take('awsRegion');
      if (!accessKeyIdPattern.test(accessKeyId)) throw problem(toField('awsAccessKeyId'), 'is malformed');
      if (!regionPattern.test(region) || region.length > MAX_REGION_LENGTH)
        throw problem(toField('awsRegion'), 'is malformed');
      return { kind: 'aws', accessKeyId, secretAccessKey, region };
    }
  }
};

const FIELD = 'fromImageRegistry';
const toField = (name: string): string => `${FIELD}.${name}`;

const isField = (name: string): boolean =>
  Object.values(fieldsOf).some((fields) => fields.some((one) => one === name));

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};
