import { afterAll, describe, expect, test } from 'vitest';
import { joinPieces } from '../../src/core/runs/turns/turn-page.ts';
import type { CliEngine, Turn } from '../../src/plugin/plugin.ts';
import { replyOf } from '../../test/contract/output.ts';
import { cursorAgentOutputs } from '../../test/kit/agents/cursor-agent-program.ts';
import { recordingsOf } from '../../test/kit/agents/recordings.ts';
import { createTempWorkspace } from '../../test/kit/workspaces/temp-workspace.ts';
import claude from '../claude.ts';
import codex from '../codex.ts';
import copilot from '../copilot.ts';
import cursorAgent from '../cursor-agent.ts';
import geminiCli from '../gemini-cli.ts';

const workspace = createTempWorkspace();
const cursorOutputs = cursorAgentOutputs(workspace);

afterAll(() => workspace.remove());

type Reader = Required<Pick<CliEngine, 'turns'>>;

function turnsIn({ turns }: Reader, stdout: string): Turn[] {
  const events = stdout.split('\n').flatMap((line): unknown[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  return joinPieces(events.flatMap((event) => turns(event)));
}

function recorded(engine: Reader & CliEngine, name: string): Turn[] {
  const all =
    engine.name === 'cursor-agent' ? cursorOutputs : recordingsOf(engine.name);
  const found = all.find((recording) => recording.case === name);
  if (!found) throw new Error(`${engine.name} has no recording ${name}`);
  return turnsIn(engine, found.stdout);
}

const engines = [claude, codex, copilot, geminiCli];

/** Copilot repeats only the last part of an answer that it had to continue. */
const parted = ['copilot/max-tokens'];

describe.each(engines)('recordings of $name', (engine) => {
  test('the answer is in the transcript exactly once', () => {
    for (const recording of recordingsOf(engine.name)) {
      const name = `${engine.name}/${recording.case}`;
      const answer = replyOf(engine, recording).text;
      if (answer === '' || parted.includes(name)) continue;
      const said = turnsIn(engine, recording.stdout)
        .flatMap((turn) =>
          turn.kind === 'text' && !turn.within ? [turn.text] : []
        )
        .join('\n');
      expect(said.split(answer), name).toHaveLength(2);
    }
  });

  test('a shell command is a call with its result, in order', () => {
    const [call, result, text] = recorded(engine, 'tool-shell');
    expect(call).toMatchObject({
      kind: 'tool',
      input: expect.stringContaining('echo hi; exit 3')
    });
    expect(result).toMatchObject({
      kind: 'result',
      text: expect.stringContaining('hi')
    });
    expect(Reflect.get(Object(call), 'id')).toBe(
      Reflect.get(Object(result), 'id')
    );
    // Gemini CLI does not report the exit code.
    if (engine !== geminiCli) expect(result).toMatchObject({ isError: true });
    expect(text).toEqual({ kind: 'text', text: 'It failed.' });
  });

  test('a written file is one edit', () => {
    const edits = recorded(engine, 'tool-write').filter(
      ({ kind }) => kind === 'edit'
    );
    expect(edits).toMatchObject([{ path: '/workspace/note.txt' }]);
  });

  test('a file that was not written is no edit without a failed call', () => {
    const turns = recorded(engine, 'read-denied');
    for (const turn of turns)
      if (turn.kind === 'edit')
        expect(turns).toContainEqual(
          expect.objectContaining({
            kind: 'result',
            id: turn.id,
            isError: true
          })
        );
    expect(turns.at(-1)).toEqual({ kind: 'text', text: 'I could not.' });
  });
});

test('each engine gives what it knows of an edit', () => {
  const editOf = (engine: Reader & CliEngine) =>
    recorded(engine, 'tool-write').find(({ kind }) => kind === 'edit');
  expect(editOf(claude)).toMatchObject({ change: 'added', after: 'hello' });
  expect(editOf(codex)).toMatchObject({ change: 'added' });
  expect(editOf(copilot)).toMatchObject({
    change: 'added',
    diff: expect.stringContaining('\n@@ -1,0 +1,1 @@\n+hello')
  });
  expect(editOf(geminiCli)).toMatchObject({ after: 'hello' });
});

test('a nested agent of Copilot is marked with the call that started it', () => {
  const [call, nested, result, own] = recorded(copilot, 'sub-agent');
  const id = Reflect.get(Object(call), 'id');
  expect(nested).toEqual({ kind: 'text', text: 'From another.', within: id });
  expect(result).toMatchObject({ kind: 'result', id, text: 'From another.' });
  expect(own).toEqual({ kind: 'text', text: 'From itself.' });
});

test('retries and errors of the provider are notices', () => {
  expect(recorded(claude, 'retry-then-success')[0]).toEqual({
    kind: 'notice',
    text: 'retry 1/2 after 500'
  });
  expect(recorded(codex, 'status-400')).toEqual([
    { kind: 'notice', text: 'Something is wrong' }
  ]);
  expect(recorded(copilot, 'retry-then-success')[0]).toEqual({
    kind: 'notice',
    text: 'The model call failed: Broken'
  });
});

test("Claude's edits of a file come as a diff", () => {
  const structuredPatch = [
    ...[{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 2 }],
    ...[{ oldStart: 9, oldLines: 1, newStart: 9, newLines: 2 }]
  ].map((hunk, index) => ({
    ...hunk,
    lines: index === 0 ? [' a', '-b', '+B'] : [' c', '+d']
  }));
  const content = [{ type: 'tool_result', tool_use_id: 't', content: 'Done.' }];
  const event = {
    type: 'user',
    message: { role: 'user', content },
    tool_use_result: { filePath: '/w/a.ts', structuredPatch, oldString: 'b' }
  };
  expect(claude.turns(event)).toEqual([
    { kind: 'result', id: 't', text: 'Done.' },
    {
      kind: 'edit',
      id: 't',
      path: '/w/a.ts',
      change: 'changed',
      diff: '@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -9,1 +9,2 @@\n c\n+d'
    }
  ]);
});

test('events of Codex that are in its documentation are read', () => {
  const item = (moment: string, of: object) =>
    codex.turns({ type: `item.${moment}`, item: of });
  expect(
    item('completed', { id: 'i', type: 'reasoning', text: 'Hm.' })
  ).toEqual([{ kind: 'thinking', text: 'Hm.' }]);
  const call = { id: 'i', type: 'mcp_tool_call', server: 's', tool: 't' };
  expect(item('started', { ...call, arguments: { a: 1 } })).toEqual([
    { kind: 'tool', id: 'i', name: 's: t', input: '{"a":1}' }
  ]);
  const content = [{ type: 'text', text: 'ok' }];
  expect(
    item('completed', { ...call, status: 'completed', result: { content } })
  ).toEqual([{ kind: 'result', id: 'i', text: 'ok' }]);
  const items = [{ text: 'one', completed: true }, { text: 'two' }];
  expect(item('updated', { type: 'todo_list', items })).toEqual([
    { kind: 'notice', text: '[x] one\n[ ] two' }
  ]);
});

test('documented events of Cursor give thoughts, calls, results and edits', () => {
  const turns = recorded(cursorAgent, 'edit: notes.md');
  expect(turns.map(({ kind }) => kind)).toEqual([
    ...['thinking', 'text', 'tool', 'result', 'edit', 'text']
  ]);
  expect(turns[0]).toEqual({ kind: 'thinking', text: 'Hm' });
  expect(turns[4]).toMatchObject({ path: expect.stringContaining('notes.md') });
});
