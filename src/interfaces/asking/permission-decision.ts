import type { AskAnswer } from '../../core/asks/ask.ts';
import type { Asker, AskSettings } from '../../core/asks/asker.ts';
import { isPlainReading, permissionOf } from '../../core/asks/permission.ts';

/** The most characters of a question, a reason, or what is to be allowed. */
export const mostChars = 8000;

/** The tool of this server, as programs with hooks name it. */
const ownTool = 'troupe-ask/ask_coordinator';

export type Place = Omit<AskSettings, 'agentId' | 'engine' | 'rules'>;

/** The decision about one use of a tool, as programs read it. */
export async function decidePermission(
  asker: Asker,
  place: Place,
  tool: string,
  input: Record<string, unknown>,
  signal: AbortSignal,
  onWaiting?: (seconds: number) => void
): Promise<Record<string, unknown>> {
  const request = permissionOf(tool, input, place);
  // Some programs ask for what the access allows, too.
  const isAllowed =
    isPlainReading(tool, input, place) ||
    (place.access === 'write' && request.needs === 'write') ||
    tool === ownTool;
  if (isAllowed) return { behavior: 'allow', updatedInput: input };
  const length = Object.values(request.subject).join('').length;
  if (length > mostChars)
    return {
      behavior: 'deny',
      message: `The call has ${length} characters, too many to review. Make a shorter one, such as a call of a script.`
    };
  const answer = await asker.ask(request, signal, onWaiting);
  return answer.decision === 'allow'
    ? { behavior: 'allow', updatedInput: input }
    : { behavior: 'deny', message: denialOf(answer) };
}

function denialOf({ by, text }: AskAnswer): string {
  const why = text === null ? '' : `: ${text}`;
  if (by === 'rule') return "Denied by a rule of the user's configuration.";
  if (by === 'coordinator' || by === 'person')
    return `Denied by the ${by}${why}`;
  return 'No answer came in time, so this is denied. Go on without it.';
}
