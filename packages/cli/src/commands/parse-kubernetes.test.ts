import { expect, it } from 'vitest';
import { parseKubernetes } from './parse-kubernetes.ts';

it('takes a namespace with the labels of the chart, or with others', () => {
  expect(parseKubernetes('skerry')).toEqual({
    namespace: 'skerry',
    selector: 'app.kubernetes.io/name=skerry,app.kubernetes.io/component=node',
  });
  expect(parseKubernetes('a-1/example.com/app=node,b!=c')).toEqual({
    namespace: 'a-1',
    selector: 'example.com/app=node,b!=c',
  });
});

it.each(['', '/app=node', 'Skerry', '-a', 'a/', 'a/ ', 'a.b', 'x'.repeat(64)])('refuses "%s"', (text) => {
  expect(() => parseKubernetes(text)).toThrow(/namespace|labels/);
});
