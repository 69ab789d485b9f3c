import type { V1CertificateSigningRequest, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { judgeRequest } from './signer.ts';

const pods = { namespace: 'sandboxes', serviceAccount: 'skerry-node' };
const toPod = (spec: Partial<V1PodSpec> = {}): V1Pod => ({
  metadata: { name: 'one', uid: 'uid-1' },
  spec: { containers: [], nodeName: 'ip-10-0-0-1.internal', serviceAccountName: 'skerry-node', ...spec },
});
const pod = toPod();
const sender = {
  username: 'system:serviceaccount:sandboxes:skerry-node',
  extra: {
    'authentication.kubernetes.io/pod-name': ['one'],
    'authentication.kubernetes.io/pod-uid': ['uid-1'],
  },
};
const judge = (
  from: Partial<V1CertificateSigningRequest['spec']>,
  found: V1Pod | undefined = pod,
  asked: string[] = [],
) =>
  judgeRequest(
    { spec: { request: '', signerName: 'skerry.io/node', ...sender, ...from } },
    pods,
    async (name) => {
      asked.push(name);
      return found;
    },
  );

describe('a request for the certificate of a node', () => {
  it('is for the machine of the pod to which the token of its sender is bound', async () => {
    const asked: string[] = [];
    expect(await judge({}, pod, asked)).toEqual({ node: 'ip-10-0-0-1.internal' });
    expect(asked).toEqual(['one']);
  });

  it.each([
    ['another account', { username: 'system:serviceaccount:sandboxes:default' }],
    ['the account of another namespace', { username: 'system:serviceaccount:other:skerry-node' }],
    ['a person', { username: 'admin' }],
    ['a token that is bound to no pod', { extra: {} }],
    [
      'a token of an earlier pod of that name',
      { extra: { ...sender.extra, 'authentication.kubernetes.io/pod-uid': ['uid-0'] } },
    ],
  ])('is refused from %s', async (_, from) => {
    expect(await judge(from)).toEqual({ refusal: expect.any(String) });
  });

  it.each([
    ['has ended', undefined],
    ['has another account', toPod({ serviceAccountName: 'default' })],
    ['is on no machine', toPod({ nodeName: '' })],
  ])('is refused when its pod %s', async (_, found) => {
    const spec = { request: '', signerName: 'skerry.io/node', ...sender };
    expect(await judgeRequest({ spec }, pods, async () => found as V1Pod | undefined)).toEqual({
      refusal: expect.any(String),
    });
  });
});
