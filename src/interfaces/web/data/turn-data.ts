import { readerOf } from '../../../core/engines/template/template-engine.ts';
import {
  type NumberedTurn,
  turnsOf,
  turnsReaderOf,
  withShortPath
} from '../../../core/runs/turns/turn-page.ts';
import { visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { runOf } from './agent-data.ts';

/** What a browser shows within a frame or two. */
const mostTurns = 40;
/** Markdown has many elements, and is shown whole. */
const mostTextChars = 20_000;
/** Longer texts are cut; the raw output has them whole. */
const mostChars = 20_000;
/** A page ends early rather than read more of an output without turns. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The newest turns of an agent, oldest first; null if its engine has none.
 * @param range as for `turnsOf`: before or from the number of a turn
 * @throws HostError `unknown_agent`
 */
export async function turnsData(
  host: Host,
  id: string,
  range: { before?: number | undefined; from?: number | undefined }
) {
  const { record } = await runOf(host, id);
  const read = turnsReaderOf(record, readerOf(record, host.registry));
  if (!read) return { turns: null, more: false };
  const { turns, more } = await turnsOf(host.store.directoryOf(id), read, {
    ...range,
    limit: mostTurns,
    textCharsAtMost: mostTextChars,
    bytesAtMost: mostBytes
  });
  const rows = turns.map((turn) => shown(withShortPath(turn, record.cwd)));
  return { turns: rows, more };
}

function shown(turn: NumberedTurn): NumberedTurn {
  const row = { ...turn };
  for (const [name, value] of Object.entries(turn))
    if (typeof value === 'string' && name !== 'kind')
      Object.assign(row, { [name]: visibleText(cut(value)) });
  return row;
}

function cut(text: string): string {
  const left = text.length - mostChars;
  return left <= 0
    ? text
    : `${text.slice(0, mostChars)}\n… ${left} more characters are in the raw output.`;
}
