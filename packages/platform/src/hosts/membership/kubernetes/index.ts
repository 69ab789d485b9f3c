export { type KubernetesApi, type KubernetesOptions, openKubernetes } from './api.ts';
export { createBusyNodes } from './busy-nodes.ts';
export { connectKubernetes } from './connect.ts';
export { createKubernetesMembership } from './kubernetes-membership.ts';
