// What a sandbox may reach, and which addresses are public. Nothing else of the network is for other packages.
export { CLOSED_NETWORK, findPolicyProblem, OPEN_NETWORK } from './network/policy.ts';
export { isPublicAddress } from './network/public-address.ts';
