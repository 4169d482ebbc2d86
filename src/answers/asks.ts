import type { OpenAsk } from '../core/asks/answers/asks.ts';
import { visibleText } from '../core/text.ts';
import type { Facts, Put } from './budget.ts';
import { ofAgent } from './read-output.ts';
import { linePart } from './truncate.ts';

/** The field `asks` of an answer; no field without asks. */
export function asksField(asks: OpenAsk[], put: Put, name = 'asks'): Facts {
  if (asks.length === 0) return {};
  return { [name]: asks.map((ask) => askFacts(ask, put)) };
}

/** An ask as callers see it. */
export function askFacts({ ask, record }: OpenAsk, put: Put): Facts {
  const { ask_id, agent_id, kind, tool, subject, options, reason } = ask;
  const now = Date.now();
  const seconds = (ms: number) => Math.max(0, Math.round(ms / 100) / 10);
  const texts = Object.entries(subject).map(([name, text]) =>
    put(linePart(name, visibleText(text)))
  );
  return {
    ...{ ask_id, agent_id, engine: record.engine, kind },
    tool: visibleText(tool),
    // Only a person may answer it.
    ...(record.ask === 'person' ? { for: 'person' } : {}),
    ...ofAgent,
    ...Object.assign({}, ...texts),
    ...(options ? { options: options.map(visibleText) } : {}),
    ...(reason === undefined
      ? {}
      : put(linePart('reason', visibleText(reason)))),
    waiting_seconds: seconds(now - Date.parse(ask.asked_at)),
    expires_in_seconds: seconds(Date.parse(ask.expires_at) - now)
  };
}
