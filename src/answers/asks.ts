import type { Asks, OpenAsk } from '../core/asks/answers/asks.ts';
import { type Ask, type AskAnswer, waitedMs } from '../core/asks/ask.ts';
import type { Run } from '../core/runs/run.ts';
import { terminalLine, visibleText } from '../core/text.ts';
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
    waiting_seconds: secondsOf(now - Date.parse(ask.asked_at)),
    expires_in_seconds: secondsOf(Date.parse(ask.expires_at) - now)
  };
}

/** An ask on one line, which has to be cut. */
export function askLine({ ask }: Pick<OpenAsk, 'ask'>): string {
  const { ask_id, tool } = ask;
  return terminalLine(`${ask_id} ${tool}: ${subjectOf({ ask })}`);
}

/** What is asked for: a command, a path, an address or a question. */
export function subjectOf({ ask }: Pick<OpenAsk, 'ask'>): string {
  const [text = ''] = Object.values(ask.subject);
  return text;
}

/** What the caller that has answered an ask gets. */
export function answeredFacts({
  ask,
  answer
}: {
  ask: Ask;
  answer: AskAnswer;
}) {
  const { ask_id, agent_id } = ask;
  const waited_seconds = secondsOf(waitedMs(ask, answer));
  return { ask_id, agent_id, status: 'answered' as const, waited_seconds };
}

/** A run as callers see it: `asking` while it waits for an answer. */
export function withAsking(
  run: Run,
  { asks }: { asks: Pick<Asks, 'isAsking'> }
): Run {
  return !run.outcome && asks.isAsking(run.record)
    ? { ...run, status: 'asking' }
    : run;
}

function secondsOf(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 100) / 10);
}
