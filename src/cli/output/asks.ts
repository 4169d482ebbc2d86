import { asksField, subjectOf } from '../../answers/asks.ts';
import { type Budget, type Facts, fitInto } from '../../answers/budget.ts';
import type { OpenAsk } from '../../core/asks/answers/asks.ts';
import { terminalLine } from '../../core/text.ts';
import { duration } from './text.ts';

const unlimited: Budget = {
  chars: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY
};

/** The field `asks` of a JSON document; no field without asks. */
export function asksJson(asks: OpenAsk[]): Facts {
  return fitInto((put) => asksField(asks, put), unlimited);
}

/** An ask with all of its text, which comes before its reason. */
export function describeAsk({ ask, record }: OpenAsk): string {
  const { ask_id, kind, tool, options = [], reason } = ask;
  const seconds = (Date.now() - Date.parse(ask.asked_at)) / 1000;
  return [
    `${ask_id}  ${record.label}, ${kind}, ${terminalLine(tool)}, ${duration(seconds)}`,
    ...subjectOf({ ask })
      .split('\n')
      .map((line) => `  ${terminalLine(line)}`),
    ...options.map((option) => `  - ${terminalLine(option)}`),
    ...(reason === undefined ? [] : [`  reason: ${terminalLine(reason)}`]),
    `  troupe answer ${ask_id} ${kind === 'permission' ? 'allow|deny' : '"text"'}`
  ].join('\n');
}
