import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliEngine, Reply } from '../../src/plugin/plugin.ts';
import claude from '../claude.ts';
import codex from '../codex.ts';
import copilot from '../copilot.ts';
import geminiCli from '../gemini-cli.ts';
import { reportingEdits, withEdits } from './edits.ts';

function editsIn({ name, read }: CliEngine, recording: string) {
  const file = new URL(
    `../fixtures/${name}/${recording}.json`,
    import.meta.url
  );
  const { stdout }: { stdout: string } = JSON.parse(readFileSync(file, 'utf8'));
  let reply: Reply = { text: '', finished: false };
  for (const line of stdout.split('\n'))
    if (line.startsWith('{')) reply = read?.(reply, JSON.parse(line)) ?? reply;
  return reply.edits;
}

test.each([
  ['claude', claude],
  ['codex', codex],
  ['copilot', copilot],
  ['gemini-cli', geminiCli]
] as const)('%s reports the files that it changes', (_, engine) => {
  expect(editsIn(engine, 'tool-write')).toEqual({
    paths: ['/workspace/note.txt'],
    isAll: true
  });
  expect(editsIn(engine, 'success')).toEqual({ paths: [], isAll: true });
  expect(editsIn(engine, 'tool-shell')).toEqual({ paths: [], isAll: false });
});

test.each([
  ['claude', claude],
  ['copilot', copilot],
  ['gemini-cli', geminiCli]
] as const)('%s reports no file that it may not write', (_, engine) => {
  expect(editsIn(engine, 'write-denied')?.paths).toEqual([]);
});

test('a patch of Codex that failed may have changed files', () => {
  const item = { type: 'file_change', status: 'failed', changes: [] };
  const events = [
    { type: 'thread.started', thread_id: 'x' },
    { type: 'item.completed', item }
  ];
  const begun: Reply = { text: '', finished: false };
  expect(events.reduce<Reply>(codex.read, begun).edits).toEqual({
    paths: [],
    isAll: false
  });
});

test('a list of a thousand files is complete, and a longer one is not', () => {
  const begun = reportingEdits<Reply>({ text: '', finished: false });
  const paths = Array.from({ length: 1001 }, (_, index) => `${index}`);
  const many = withEdits(begun, paths.slice(1));
  expect(many.edits?.isAll).toBe(true);
  const { edits } = withEdits(many, paths);
  expect(edits?.isAll).toBe(false);
  expect(edits?.paths).toHaveLength(1000);
});
