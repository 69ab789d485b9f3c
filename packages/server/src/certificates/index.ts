export { initTls, type TlsFiles } from './init-tls.ts';
export { writeCertificates } from './write-certificates.ts';
