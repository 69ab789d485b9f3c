export { runProgram, type Stack, type StackAddress, type StackOptions, startStack } from './stack.ts';
