import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { termsOf } from '../../scripts/third-party.mjs';
import { packageRoot } from '../kit/judges/documents.ts';
import { createTempWorkspace } from '../kit/workspaces/temp-workspace.ts';

const modules = join(packageRoot, 'node_modules');

test('a package has one section, with its terms, however much of it is used', () => {
  const used = ['zod/index.js', 'zod/v4/index.js', '@biomejs/biome/bin/biome'];
  const sections = termsOf(used.map((path) => join(modules, path)));
  expect(sections).toHaveLength(2);
  expect(sections[0]).toMatch(/^== @biomejs\/biome \d.*: MIT/);
  expect(sections[1]).toMatch(/^== zod \d.*: MIT\n\nMIT License\n\nCopyright/);
  expect(termsOf([join(packageRoot, 'src/index.ts')])).toEqual([]);
});

test('terms that stand in a README alone are found there', () => {
  const [section] = termsOf([join(modules, 'data-uri-to-buffer/index.js')]);
  expect(section).toMatch(/MIT License\)\n\nCopyright(.|\n)*NO EVENT SHALL/);
});

test('the owners of code that a package has taken over are named as well', () => {
  const sdk = join(modules, 'openai');
  const [plain] = termsOf([join(sdk, 'client.mjs')]);
  const [more] = termsOf([join(sdk, 'internal/qs/stringify.mjs')]);
  expect(plain).not.toContain('Nathan LaFreniere');
  expect(more).toMatch(/^== openai .*Apache License.*2014, Nathan LaFreniere/s);
});

test('terms in several files are all included', () => {
  const [section] = termsOf([join(modules, '@anthropic-ai/sdk/client.mjs')]);
  expect(section).toMatch(/Apache License.*Permission is hereby granted/s);
});

test('a package that brings no terms cannot be bundled', () => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const about = '{"name":"bare","version":"1.0.0","license":"MIT"}';
  workspace.write('node_modules/bare/package.json', about);
  const used = join(workspace.path, 'node_modules/bare/index.js');
  expect(() => termsOf([used])).toThrow('bare has no terms');
});
