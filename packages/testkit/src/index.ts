export { type CreateOptions, type Stack, type StackAddress, type StackSandbox, startStack } from './stack.ts';
