import { beforeEach, describe, expect, test } from 'vitest';
import { AgentEvents } from './agent-events.ts';

type Fields = Record<string, unknown>;

let printed: Fields[];
let events: AgentEvents;

beforeEach(() => {
  printed = [];
  events = new AgentEvents((event) => printed.push(event));
  events.begin('s1', 'm1');
});

const call = (update: Fields) => ({ sessionUpdate: 'tool_call', ...update });
const text = (...parts: unknown[]) =>
  parts.map((part) => ({ content: { text: part } }));

test('a session begins with its id and model, and what came before is not printed', () => {
  const early = new AgentEvents((event) => printed.push(event));
  early.update({
    ...{ sessionUpdate: 'agent_message_chunk', content: { text: 'old' } }
  });
  expect(printed).toEqual([{ type: 'init', session_id: 's1', model: 'm1' }]);
});

test('a message is printed with its text, and nothing without one', () => {
  const sessionUpdate = 'agent_message_chunk';
  events.update({ sessionUpdate, content: { text: 'hello' } });
  events.update({ sessionUpdate, content: { type: 'image' } });
  events.update({ sessionUpdate: 'plan', content: { text: 'x' } });
  expect(printed.slice(1)).toEqual([
    { type: 'message', role: 'assistant', content: 'hello', delta: true }
  ]);
});

test('a call is printed once, with its result', () => {
  const id = { toolCallId: 'read_file__read_file_1_0' };
  events.update(call({ ...id, kind: 'read', title: 'a.txt' }));
  events.update({
    ...{ sessionUpdate: 'tool_call_update', ...id, status: 'in_progress' }
  });
  events.update({
    ...{ sessionUpdate: 'tool_call_update', ...id, status: 'completed' },
    content: text('one', 2, 'two')
  });
  expect(printed.slice(1)).toEqual([
    {
      ...{ type: 'tool_use', tool_id: id.toolCallId, tool_name: 'read_file' },
      parameters: { title: 'a.txt' }
    },
    {
      ...{ type: 'tool_result', tool_id: id.toolCallId, status: 'success' },
      output: 'one\ntwo'
    }
  ]);
});

test('a call that fails, or is denied, has an error', () => {
  const failed = { toolCallId: 'x', status: 'failed', content: text('no') };
  events.update(call(failed));
  events.denied('y');
  expect(printed.slice(2)).toEqual([
    {
      ...{ type: 'tool_result', tool_id: 'x', status: 'error' },
      error: { message: 'no' }
    },
    {
      ...{ type: 'tool_result', tool_id: 'y', status: 'error' },
      error: { type: 'policy_violation', message: 'denied' }
    }
  ]);
});

describe('the tool of a call', () => {
  const diff = { type: 'diff', path: 'a', oldText: 'o', newText: 'n' };
  const replaced = { file_path: 'a', old_string: 'o', new_string: 'n' };
  const shell = 'run_shell_command';

  test.each<[string, Fields, string, Fields, boolean]>([
    [
      'is the file that it writes',
      { toolCallId: 'write_file__1', content: [diff] },
      'write_file',
      { file_path: 'a', content: 'n' },
      true
    ],
    [
      'is an edit for any other diff',
      { toolCallId: 'smart-1', content: [diff] },
      'replace',
      replaced,
      true
    ],
    [
      'is the shell by its kind',
      { toolCallId: 'x', kind: 'execute', title: 'ls', content: text('why') },
      shell,
      { command: 'ls', description: 'why' },
      true
    ],
    [
      'has no description without a text',
      { toolCallId: 'x', kind: 'execute', title: 7 },
      shell,
      { command: '' },
      true
    ],
    [
      'is not the shell by its id alone',
      { toolCallId: `${shell}-1`, kind: 'read', title: 'a' },
      'read',
      { title: 'a' },
      false
    ],
    [
      'is no edit by its id alone',
      { toolCallId: 'replace__1', kind: 'other', title: 'a' },
      'other',
      { title: 'a' },
      false
    ],
    [
      'is named by its id',
      { toolCallId: 'glob-12', kind: 'search', title: '*', content: text('x') },
      'glob',
      { title: '*', description: 'x' },
      false
    ]
  ])('%s', (_, toolCall, tool, input, isShown) => {
    const id = toolCall.toolCallId;
    expect(events.called(toolCall)).toEqual({ id, tool, input, isShown });
  });
});

describe('the end of a turn', () => {
  const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

  test('has the tokens of all and of each model', () => {
    const count = { input_tokens: 2, output_tokens: 3 };
    events.end({
      stopReason: 'end_turn',
      _meta: {
        quota: {
          token_count: count,
          model_usage: [{ model: 'm1', token_count: count }, { model: 'm2' }]
        }
      }
    });
    const sum = { ...count, total_tokens: 5 };
    expect(printed.at(-1)).toEqual({
      ...{ type: 'result', status: 'success' },
      stats: { ...sum, models: { m1: sum, m2: none } }
    });
  });

  test.each([
    ['max_tokens', 'The answer exceeded the token limit.'],
    ['refusal', 'The answer was blocked due to prohibited content.'],
    ['cancelled', 'The turn was canceled.']
  ])('after %s is an error', (stopReason, message) => {
    events.end({ stopReason });
    expect(printed.at(-1)).toEqual({
      ...{ type: 'result', status: 'error', error: { message } },
      stats: { ...none, models: {} }
    });
  });

  test('may be an error of the program', () => {
    events.fail('It broke.');
    expect(printed.at(-1)).toEqual({
      ...{ type: 'result', status: 'error', error: { message: 'It broke.' } }
    });
  });
});
