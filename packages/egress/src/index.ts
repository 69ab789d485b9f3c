export { type GatewayOptions, type GatewayReply, type GatewayRequest, runGateway } from './run-gateway.ts';
