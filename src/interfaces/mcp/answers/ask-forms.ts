import { subjectOf } from '../../../answers/asks.ts';
import type {
  AnswerRequest,
  OpenAsk
} from '../../../core/asks/answers/asks.ts';
import { visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import type { Form } from '../transport/protocol.ts';

/** How a client shows forms to its user, by the revision that it speaks. */
export type FormDoor =
  /** Shows a form now. @returns the client's result; rejects as a request */
  | { show: (form: Form, signal: AbortSignal) => Promise<unknown> }
  /** Shows forms after this call, which then comes again with the results. */
  | { filled: Record<string, unknown> };

/** Ends a call whose client has to show forms first. */
export class InputRequired extends Error {
  readonly requests: Record<string, unknown>;

  constructor(asks: OpenAsk[]) {
    super('input required');
    this.requests = Object.fromEntries(
      asks.map((ask) => [
        ask.ask.ask_id,
        { method: 'elicitation/create', params: formFor(ask) }
      ])
    );
  }
}

/**
 * Shows the asks for a person as forms of the client, one at a time, while its
 * call waits. Only an explicit acceptance is an answer: programs without a
 * person decline or cancel by themselves.
 */
export class AskForms {
  readonly #host: Host;
  readonly #client: string;
  readonly #door: FormDoor | undefined;
  /** Ids of the asks whose form was closed without an answer. */
  readonly #closed = new Set<string>();
  #shown: { id: string; stop: AbortController } | undefined;

  constructor(host: Host, client: string, door: FormDoor | undefined) {
    this.#host = host;
    this.#client = client;
    // The client of an agent has no person.
    this.#door = host.origin.isAgents() ? undefined : door;
    if (!this.#door || !('filled' in this.#door)) return;
    for (const [id, result] of Object.entries(this.#door.filled))
      this.#take(id, result);
  }

  /**
   * Looks after the open asks of a wait.
   * @returns the asks for which there is no form, which end the wait
   * @throws InputRequired if the client shows forms after the call
   */
  attend(open: OpenAsk[], mayRepeat: boolean): OpenAsk[] {
    const door = this.#door;
    if (!door || ('filled' in door && !mayRepeat)) return open;
    const isFormed = ({ ask, record }: OpenAsk) =>
      record.ask === 'person' && !this.#closed.has(ask.ask_id);
    const formed = open.filter(isFormed);
    const others = open.filter((one) => !isFormed(one));
    if (!formed.some(({ ask }) => ask.ask_id === this.#shown?.id)) this.close();
    const [next] = formed;
    if (next && 'filled' in door && others.length === 0)
      throw new InputRequired(formed);
    if (next && 'show' in door && !this.#shown) this.#show(next, door.show);
    return others;
  }

  /** Takes the form away, because the call ends or the ask was answered. */
  close(): void {
    this.#shown?.stop.abort();
    this.#shown = undefined;
  }

  #show(open: OpenAsk, show: Extract<FormDoor, { show: unknown }>['show']) {
    const id = open.ask.ask_id;
    const stop = new AbortController();
    const shown = { id, stop };
    this.#shown = shown;
    const take = (result: unknown) => {
      if (this.#shown !== shown) return;
      this.#shown = undefined;
      this.#take(id, result);
    };
    void show(formFor(open), stop.signal).then(take, () => take(undefined));
  }

  #take(askId: string, result: unknown): void {
    this.#closed.add(askId);
    const kind = this.#host.asks.kindOf(askId);
    const given = kind && givenIn(kind, result);
    if (!given) return;
    try {
      this.#host.asks.answer({ askId, ...given }, { form: this.#client });
    } catch {
      // It was answered or ended meanwhile, or needs more than `maxAccess`.
    }
  }
}

/** Of one answer, as for `answer_agent`. */
const mostChars = 20_000;

/** The form for an ask, in the part of JSON Schema that forms may use. */
function formFor({ ask, record }: OpenAsk): Form {
  const { ask_id, kind, tool, options = [], reason } = ask;
  const who = `${record.label} (agent ${record.agent_id})`;
  const subject = visibleText(subjectOf({ ask }));
  const because = reason === undefined ? '' : `\n\n${visibleText(reason)}`;
  const text = { type: 'string', maxLength: mostChars };
  if (kind === 'permission')
    return {
      message: `${who} asks for permission for one call of ${visibleText(tool)}, ask ${ask_id}:\n\n${subject}${because}`,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Decision',
            enum: ['allow', 'deny']
          },
          text: {
            ...text,
            title: 'Reason',
            description: 'The agent reads it.'
          }
        },
        required: ['decision']
      }
    };
  const shown = options.map(visibleText).join('\n- ');
  return {
    message: `${who} asks, ask ${ask_id}:\n\n${subject}${because}${shown === '' ? '' : `\n\n- ${shown}`}`,
    requestedSchema: {
      type: 'object',
      properties: { text: { ...text, title: 'Answer', minLength: 1 } },
      required: ['text']
    }
  };
}

/** The answer in a client's result; undefined unless one was accepted. */
function givenIn(
  kind: 'permission' | 'question',
  result: unknown
): Omit<AnswerRequest, 'askId'> | undefined {
  const { action, content } = Object(result);
  if (action !== 'accept') return undefined;
  const { decision, text } = Object(content);
  const words =
    typeof text === 'string' && text.trim() !== '' ? text : undefined;
  if (kind === 'question')
    return words === undefined ? undefined : { text: words };
  return decision === 'allow' || decision === 'deny'
    ? { decision, text: words }
    : undefined;
}
