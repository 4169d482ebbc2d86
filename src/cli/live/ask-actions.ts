import { askLine, subjectOf } from '../../answers/asks.ts';
import type { OpenAsk } from '../../core/asks/answers/asks.ts';
import type { Host } from '../../host/host.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import { widthOf } from '../output/text.ts';
import type { Cancellation } from './agent-actions.ts';
import { LineInput } from './line-input.ts';

/** Columns for the keys that answer a question. */
const answerWidth = 6;

/** How a person answers an ask: a question, a line of text, or why not. */
type AnswerStep = Cancellation | LineInput | string;

/** The asks of an agent that wait, oldest first. */
function asksOf(host: Host, { of, isActive }: WatchedAgent): OpenAsk[] {
  return isWorker(of) || !isActive ? [] : host.asks.open([of.record]);
}

/**
 * Allows the oldest ask of an agent after a question, or takes the text that
 * answers it.
 * @param columns the width of the screen
 * @param isShown whether the whole ask is on the screen
 */
export function allowing(
  host: Host,
  agent: WatchedAgent,
  columns: number,
  isShown: boolean,
  say: (text: string) => void
): AnswerStep {
  const [open] = asksOf(host, agent);
  if (!open) return asksNothing(agent);
  const { ask_id: askId, kind } = open.ask;
  if (kind === 'question')
    return new LineInput({
      label: `answer ${askId}: `,
      onEnter: (text) =>
        text.trim() === ''
          ? say('Nothing was answered.')
          : attempt(say, () => answered(host, askId, { text }))
    });
  const question = isShown
    ? `Allow ${askId}, which is shown above?`
    : `Allow ${askLine(open)}?`;
  const isCut = widthOf(question) > columns - answerWidth;
  if (!isShown && (isCut || subjectOf(open).includes('\n')))
    return `What ${askId} asks for is too long for this line: Enter shows it.`;
  return {
    question,
    perform: async () => answered(host, askId, { decision: 'allow' })
  };
}

/** Takes the reason with which the oldest ask of an agent is denied. */
export function denying(
  host: Host,
  agent: WatchedAgent,
  say: (text: string) => void
): AnswerStep {
  const [open] = asksOf(host, agent);
  if (!open) return asksNothing(agent);
  const { ask_id: askId, kind } = open.ask;
  if (kind === 'question') return `${askId} is a question: a answers it.`;
  return new LineInput({
    label: `deny ${askId}, because (Enter: no reason): `,
    onEnter: (reason) => {
      const text = reason.trim() === '' ? {} : { text: reason };
      attempt(say, () => answered(host, askId, { decision: 'deny', ...text }));
    }
  });
}

function answered(
  host: Host,
  askId: string,
  given: { decision?: 'allow' | 'deny'; text?: string }
): string {
  host.asks.answer({ askId, ...given }, 'command line');
  return `${askId} is ${given.decision === undefined ? 'answered' : { allow: 'allowed', deny: 'denied' }[given.decision]}.`;
}

function attempt(say: (text: string) => void, work: () => string): void {
  try {
    say(work());
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

function asksNothing({ id }: WatchedAgent): string {
  return `${id} asks for nothing.`;
}
