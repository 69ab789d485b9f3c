export {
  ACCESS_TOKEN,
  type Access,
  accessTokenOf,
  checkAccess,
  createHashVerifier,
  createTokenVerifier,
  OPEN_ROUTE,
} from './access.ts';
export { EDGE_ACCESS, parseEdgeAccess, toEdgeAccess } from './edge-access.ts';
export { parseRequestUrl, withoutSignature } from './request-url.ts';
export { hashToken, isSameSecret } from './secret.ts';
