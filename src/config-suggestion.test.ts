import { expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { createTempWorkspace } from './testing/temp-workspace.ts';

test.each([
  ['{ "maxConcurent": 3 }', 'maxConcurrent'],
  ['{ "retention": { "keeep": 3 } }', 'keep'],
  ['{ "engines": { "claude": { "modle": "x" } } }', 'model'],
  ['{ "toolsets": ["runs", "spwn"] }', 'spawn'],
  ['{ "maxAccess": "raed" }', 'read'],
  ['{ "orchestrator": { "backnd": "tmux" } }', 'backend']
])('%s makes it ask whether "%s" was meant', async (text, meant) => {
  const workspace = createTempWorkspace();
  workspace.write('.trouperc.json', text);
  const refused = loadConfig({ workspace: workspace.path }, {});
  await expect(refused).rejects.toMatchObject({
    hint: `Did you mean "${meant}"? docs/reference/configuration.md shows every key.`
  });
  workspace.remove();
});

test('a key that is like none of ours gets no suggestion', async () => {
  const workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{ "somethingElse": 3 }');
  await expect(
    loadConfig({ workspace: workspace.path }, {})
  ).rejects.toMatchObject({
    hint: 'docs/reference/configuration.md shows every key.'
  });
  workspace.remove();
});
