export { type Stack, startStack } from './stack.ts';
export { type CreateOptions, type StackAddress, type StackSandbox, toRouting } from './stack-client.ts';
