import { expect, test } from 'vitest';
import { createTempWorkspace } from '../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from './config.ts';

test.each([
  ['{ "maxConcurent": 3 }', 'maxConcurrent'],
  ['{ "retention": { "keeep": 3 } }', 'keep'],
  ['{ "engines": { "claude": { "modle": "x" } } }', 'model'],
  ['{ "toolsets": ["runs", "spwn"] }', 'spawn'],
  ['{ "maxAccess": "raed" }', 'read'],
  ['{ "orchestrator": { "backnd": "tmux" } }', 'backend']
])('%s is answered with the suggestion "%s"', async (text, meant) => {
  const workspace = createTempWorkspace();
  workspace.write('.trouperc.json', text);
  const refused = loadConfig({ workspace: workspace.path }, {});
  await expect(refused).rejects.toMatchObject({
    hint: `Did you mean "${meant}"? docs/reference/configuration.md shows every key.`
  });
  workspace.remove();
});

test('a key that resembles none of ours gets no suggestion', async () => {
  const workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{ "somethingElse": 3 }');
  await expect(
    loadConfig({ workspace: workspace.path }, {})
  ).rejects.toMatchObject({
    hint: 'docs/reference/configuration.md shows every key.'
  });
  workspace.remove();
});
