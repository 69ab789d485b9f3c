// What a sandbox may reach, and which addresses are public. Nothing else of the network is for other packages.

export { gatewayPorts } from './network/gateway/ports.ts';
export { CLOSED_NETWORK, findPolicyProblem, OPEN_NETWORK, toNames } from './network/policy.ts';
export { isPublicAddress } from './network/public-address.ts';
