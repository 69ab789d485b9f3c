export {
  type CreateOptions,
  type Stack,
  type StackAddress,
  type StackSandbox,
  startStack,
  toRouting,
} from './stack.ts';
