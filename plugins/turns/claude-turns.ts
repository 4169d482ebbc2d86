import type { Edit, Turn } from '../../src/plugin/plugin.ts';
import {
  count,
  type Fields,
  record,
  records,
  text
} from '../shared/json-fields.ts';
import {
  callTurn,
  contentText,
  idOf,
  nestedIn,
  resultTurn,
  saidTurns
} from '../shared/turns.ts';

/** The event `result` repeats the last text, so it adds nothing. */
export function claudeTurns(event: unknown): Turn[] {
  const line = record(event);
  const { type, parent_tool_use_id: within } = line;
  const blocks = records(record(line.message).content);
  switch (type) {
    case 'assistant': {
      // Claude Code reports errors of the API as messages of no model.
      const isOwn = record(line.message).model !== '<synthetic>';
      const turns = blocks.flatMap((block) => saidIn(block, isOwn));
      return nestedIn(within, turns);
    }
    case 'user':
      return nestedIn(within, [
        ...blocks.flatMap((block) => heardIn(block, line)),
        ...editIn(line, blocks)
      ]);
    case 'system':
      return noticeIn(line);
    default:
      return [];
  }
}

function saidIn(block: Fields, isOwn: boolean): Turn[] {
  switch (block.type) {
    case 'text':
      return saidTurns(isOwn ? 'text' : 'notice', block.text);
    case 'thinking':
      return saidTurns('thinking', block.thinking);
    case 'tool_use':
    case 'server_tool_use':
      return [callTurn(block.id, block.name, block.input)];
    default:
      return [];
  }
}

/** Results of tools, and what Claude Code adds in the name of the user. */
function heardIn(block: Fields, line: Fields): Turn[] {
  if (block.type === 'tool_result') {
    const said = contentText(block.content);
    return [resultTurn(block.tool_use_id, said, block.is_error === true)];
  }
  return block.type === 'text' && line.isSynthetic === true
    ? saidTurns('notice', block.text)
    : [];
}

/** Only a completed edit comes with its patch. */
function editIn({ tool_use_result }: Fields, blocks: Fields[]): Turn[] {
  const result = record(tool_use_result);
  const path = text(result.filePath);
  if (path === '' || !Array.isArray(result.structuredPatch)) return [];
  const call = blocks.find(({ type }) => type === 'tool_result');
  const edit: Edit = { kind: 'edit', ...idOf(call?.tool_use_id), path };
  return [
    result.type === 'create'
      ? { ...edit, change: 'added', after: text(result.content) }
      : { ...edit, change: 'changed', diff: diffOf(result.structuredPatch) }
  ];
}

function diffOf(patch: unknown): string {
  return records(patch)
    .flatMap((hunk) => [
      `@@ -${count(hunk.oldStart)},${count(hunk.oldLines)} +${count(hunk.newStart)},${count(hunk.newLines)} @@`,
      ...(Array.isArray(hunk.lines) ? hunk.lines.map(text) : [])
    ])
    .join('\n');
}

function noticeIn(line: Fields): Turn[] {
  if (line.subtype === 'api_retry') {
    const attempt = `${count(line.attempt)}/${count(line.max_retries)}`;
    const why = count(line.error_status) || text(line.error) || 'an error';
    return saidTurns('notice', `retry ${attempt} after ${why}`);
  }
  return line.subtype === 'informational'
    ? saidTurns('notice', text(line.content) || text(line.message))
    : [];
}
