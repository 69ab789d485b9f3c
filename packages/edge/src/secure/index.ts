export { createSecureFront, type SecureFront, type ServerCertificate } from './secure-front.ts';
