import {
  type Ask,
  type AskAnswer,
  describeAnswerer,
  isUnanswered
} from '../../core/asks/ask.ts';

interface Decided {
  ask: Ask;
  answer: AskAnswer;
  /** The call with all of its input, as JSON. */
  call: string | undefined;
}

/** The prompt that continues the session of a parked agent. */
export function resumePrompt(decided: Decided[]): string {
  return [
    'This session was paused while you waited for an answer. The calls that you waited for have not been made. Whatever else was running was ended: check what it left unfinished.',
    ...decided.map(paragraphOf),
    'Then go on with your task.'
  ].join('\n\n');
}

function paragraphOf({ ask, answer, call }: Decided): string {
  return ask.kind === 'question'
    ? answerText(ask, answer)
    : decisionText(ask, answer, call);
}

function answerText({ subject }: Ask, answer: AskAnswer): string {
  const question = `Your question was: ${subject.question}`;
  return isUnanswered(answer) || answer.text === null
    ? `${question}\nNo answer came. Decide yourself, and say in your result what you assumed.`
    : `${question}\nThe answer of the ${answer.by} is: ${answer.text}`;
}

function decisionText(
  { tool }: Ask,
  answer: AskAnswer,
  call: string | undefined
): string {
  const what = `Your call of ${tool} with ${inputIn(call)}`;
  const said = answer.text === null ? '' : ` ${answer.text}`;
  if (answer.decision === 'allow')
    return `${what} is now allowed, once. Make exactly this call again.${said}`;
  return isUnanswered(answer)
    ? `${what} is denied, because no answer came in time. Do not make it again.`
    : `${what} is denied by the ${describeAnswerer(answer)}. Do not make it again.${said}`;
}

function inputIn(call: string | undefined): string {
  try {
    const [, input] = JSON.parse(call ?? '');
    return JSON.stringify(input);
  } catch {
    return 'its input';
  }
}
