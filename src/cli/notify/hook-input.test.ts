import { expect, test } from 'vitest';
import { agentIdsIn } from './hook-input.ts';

const ofResponse = (tool_response: unknown) =>
  agentIdsIn(
    JSON.stringify({
      session_id: 's',
      hook_event_name: 'PostToolUse',
      tool_name: 'mcp__agents__spawn_codex',
      tool_input: { prompt: '{"agent_id":"99999999"}' },
      tool_response
    })
  );

const spawned = { agent_id: '1a2b3c4d', agent_type: 'codex', message: 'runs' };
const squad = {
  squadId: 's1',
  members: [
    {
      memberId: 'm1',
      agentId: '1a2b3c4d',
      rawStdout: '{"agent_id":"bad00000"}'
    },
    { memberId: 'm2', agentId: '5e6f7a8b' },
    { memberId: 'm3' }
  ]
};
const text = (value: unknown) => ({
  type: 'text',
  text: JSON.stringify(value)
});

test.each([
  ['an object', spawned],
  ['a text', JSON.stringify(spawned)],
  ['a list of blocks', [text(spawned)]],
  ['the result of a call', { content: [text(spawned)] }],
  ['structured content', { content: [], structuredContent: spawned }],
  ['a text of blocks', JSON.stringify([text(spawned)])]
])('the id of a spawn is found in %s', (_, response) => {
  expect(ofResponse(response)).toEqual(['1a2b3c4d']);
});

test('the ids of a squad are found, and none in the words of an agent', () => {
  for (const response of [squad, [text(squad)], JSON.stringify(squad)])
    expect(ofResponse(response)).toEqual(['1a2b3c4d', '5e6f7a8b']);
});

test.each([
  [undefined],
  [null],
  ['Codex 1a2b3c4d runs.'],
  [{ agent_id: '../../etc' }],
  [{ agent_id: 12345678, members: 'x' }],
  [{ error: 'at_capacity', content: [{ type: 'image', text: '{}' }] }],
  [[[[[[[[[spawned]]]]]]]]]
])('there is no id in %j', (response) => {
  expect(ofResponse(response)).toEqual([]);
});

test.each(['', 'no JSON', '[]', '"x"', 'null'])(
  'the input %j is refused',
  (input) => {
    expect(() => agentIdsIn(input)).toThrow('no JSON of a hook on stdin');
  }
);
