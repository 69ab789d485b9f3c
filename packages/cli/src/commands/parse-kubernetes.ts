import { InvalidArgumentError } from 'commander';

/** The labels that the chart gives the pods of nodes. */
const DEFAULT_SELECTOR = 'app.kubernetes.io/name=skerry,app.kubernetes.io/component=node';

/** RFC 1123, 2.1, as Kubernetes requires it of a namespace. */
const namespaceForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Parses `namespace` or `namespace/selector`; the labels of a selector may have slashes too. */
export function parseKubernetes(text: string): { namespace: string; selector: string } {
  const [, namespace = '', selector = DEFAULT_SELECTOR] = text.match(/^([^/]*)(?:\/(.*))?$/s) ?? [];
  if (!namespaceForm.test(namespace))
    throw new InvalidArgumentError(
      'it is a namespace of up to 63 of a-z, 0-9 and dashes, or namespace/selector.',
    );
  if (selector.trim() === '')
    throw new InvalidArgumentError(
      'after the slash there are the labels of the pods, as in skerry/app=node.',
    );
  return { namespace, selector };
}
