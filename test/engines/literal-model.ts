import type { Action, Offer, Turn } from '../model-server/actions.ts';
import { type Json, record, string } from '../model-server/json.ts';
import { mcp } from './client-stage.ts';
import { factsIn, firstSteps, offersTo } from './shown.ts';

/** A call that a text leads to. */
export interface Call {
  offer: Offer;
  arguments: Json;
}

/**
 * A model that knows only the descriptions of our tools and follows them to
 * the letter: the tool whose description matches the request, then whatever
 * an answer names next, until one says nothing more. It repeats that one.
 * @param request what to do, and the text to hand on
 */
export function literalModel(
  request: { wish: string; text: string },
  turn: Turn
): Action[] {
  const before = firstSteps(turn);
  if (turn.toolResults.length < before.length) return before;
  const offers = offersTo(turn);
  const answers = turn.toolResults.slice(before.length).map(factsIn);
  const calls = answers.map((answer) => nextCall(answer, offers));
  const first = bestOffer(request.wish, offers);
  const start = { offer: first, arguments: textFor(first, request.text) };
  const steps = [start, ...calls].flatMap((call) => call ?? []);
  const unknown = steps.find(({ offer }) => offer.schema === undefined);
  if (unknown) return [...past(turn), lookUp(unknown.offer)];
  const last = answers.at(-1);
  return last && calls.at(-1) === undefined
    ? [...past(turn), { do: 'say', text: JSON.stringify(last) }]
    : [
        ...past(turn),
        ...steps
          .slice(-1)
          .map(({ offer, arguments: its }) => mcp(bareName(offer), its))
      ];
}

/** The call an answer says is next, with what the answer gives for it. */
export function nextCall(answer: Json, offers: Offer[]): Call | undefined {
  const advice = adviceIn(answer);
  const [first] = offers
    .map((offer) => ({ offer, at: placeOf(bareName(offer), advice) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at);
  if (!first) return undefined;
  const { offer, at } = first;
  return { offer, arguments: argumentsFor(offer, advice.slice(at), answer) };
}

/** Every sentence that an answer has for its reader. */
function adviceIn(value: unknown): string {
  if (Array.isArray(value)) return value.map(adviceIn).join(' ').trim();
  return Object.entries(record(value))
    .map(([key, inner]) =>
      ['message', 'tip', 'hint'].includes(key) && typeof inner === 'string'
        ? inner
        : adviceIn(inner)
    )
    .join(' ')
    .trim();
}

/**
 * The tool that has most of a request's words, in its name before all. A word
 * that few tools have says more.
 */
export function bestOffer(wish: string, offers: Offer[]): Offer {
  const wanted = [...new Set(wordsIn(wish))];
  const names = offers.map(({ name }) => wordsIn(name));
  const descriptions = offers.map(({ description }) => wordsIn(description));
  const worth = (own: string[], all: string[][]) =>
    wanted
      .filter((word) => own.includes(word))
      .map((word) => 1 / all.filter((words) => words.includes(word)).length)
      .reduce((sum, one) => sum + one, 0);
  const score = ({ name, description }: Offer) =>
    10 * worth(wordsIn(name), names) +
    worth(wordsIn(description), descriptions);
  const [best] = [...offers].sort(
    (one, other) =>
      score(other) - score(one) || one.name.length - other.name.length
  );
  if (!best) throw new Error('No tool is offered.');
  return best;
}

/** The one argument a tool must have. */
function textFor({ name, schema }: Offer, text: string): Json {
  if (schema === undefined) return {};
  const [needed, ...others] = Array.isArray(schema.required)
    ? schema.required
    : [];
  if (typeof needed !== 'string' || others.length > 0)
    throw new Error(`${name} does not take one text.`);
  return { [needed]: text };
}

/** What the text writes out, names, or what the answer calls the same. */
function argumentsFor(offer: Offer, advice: string, answer: Json): Json {
  const literal = /^\w+ (\{.*?\})/.exec(advice)?.[1];
  if (literal) return record(JSON.parse(literal));
  const properties = record(offer.schema?.properties);
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => {
      if (placeOf(name, advice) < 0) return [];
      const number = new RegExp(`\\b${name} (\\d+)`).exec(advice)?.[1];
      if (number) return [[name, Number(number)]];
      const source = new RegExp(`(\\w+) as ${name}\\b`).exec(advice)?.[1];
      const value = found(source ?? name, answer);
      const isList = record(property).type === 'array';
      return [[name, isList && !Array.isArray(value) ? [value] : value]];
    })
  );
}

/** The value under a key, however deep. */
function found(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const own = record(value)[key];
  if (own !== undefined) return own;
  for (const inner of Object.values(value)) {
    const deeper = found(key, inner);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

/** Of our tools: what they are called in our own words. */
function bareName({ name }: Offer): string {
  return name.replace(/^(mcp__agents__|mcp__agents\/|agents-|mcp_agents_)/, '');
}

function placeOf(word: string, text: string): number {
  return text.search(new RegExp(`\\b${word}\\b`));
}

function wordsIn(text: string): string[] {
  return string(text)
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
}

/** As Claude Code's own tool says that one does it. */
function lookUp({ name }: Offer): Action {
  const query = `select:${name}`;
  return {
    do: 'tool',
    name: 'ToolSearch',
    arguments: { query, max_results: 5 }
  };
}

/** Stands for the calls that have their results. */
function past(turn: Turn): Action[] {
  return turn.toolResults.map(() => mcp('list'));
}
