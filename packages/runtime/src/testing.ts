// What tests of other packages take from those of this one. No product code may import it.

export { inNetworkNamespace, openNetworkNamespace } from './kernel/network-namespace.ts';
export { makeNetworkLab, type NetworkLab } from './node/testing/network-lab.ts';
export { type AttackPlace, type AttackRow, markAttack } from './suite/attack-row.ts';
export { type Attempt, tryHostile } from './suite/hostile.ts';
export { toLevelTraits } from './suite/levels.ts';
export { findTraces } from './suite/traces.ts';
export { isIdOfUser, runAsUser } from './suite/user.ts';
