import { hasToolset } from '../../../config/config.ts';
import { readyEngineNames } from '../../../core/engines/api/api-keys.ts';
import { collapseWhitespace } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { invalidParams, shortened } from '../transport/protocol.ts';
import { type PromptFile, readPrompts } from './prompt-file.ts';
import { type Completion, partsOf, suggest, suggestNext } from './suggest.ts';

type Argument = PromptFile['arguments'][number];

interface ListedPrompt {
  name: string;
  title: string;
  description: string;
  arguments: Pick<Argument, 'name' | 'description' | 'required'>[];
}

const accesses = ['read', 'write', 'full'];

/** Arguments that are comma-separated lists. */
const lists = ['engines', 'roles'];

/** The prompts whose tools are served. */
export class Prompts {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  async list(): Promise<ListedPrompt[]> {
    return (await this.#offered()).map(
      ({ name, title, description, arguments: all }) => ({
        name,
        title,
        description,
        arguments: all.map(({ default: fallback, ...shown }) => shown)
      })
    );
  }

  /**
   * Fills a prompt with the user's values.
   * @throws ProtocolError for an unknown prompt or argument, and a missing
   *   value
   */
  async get(
    name: string,
    input: Record<string, string>,
    clientName: string
  ): Promise<{ description: string; text: string }> {
    const prompt = await this.#find(name);
    checkArguments(prompt, input);
    const line = joinedLine(prompt, input, clientName);
    const values = new Map<string, Value>();
    for (const [index, argument] of prompt.arguments.entries()) {
      const value = await this.#valueOf(argument, line.values);
      const { note = index === 0 ? line.note : undefined } = value;
      values.set(argument.name, { ...value, note });
    }
    const ownName = this.#host.config.councilDoor?.agentName;
    if (ownName !== undefined)
      values.set('agent_name', { text: ownName, fallback: '', note: byServer });
    const { description, body } = prompt;
    return { description, text: fill(body, values) };
  }

  /** @throws ProtocolError for an unknown prompt */
  async complete(
    name: string,
    argument: string,
    typed: string
  ): Promise<Completion> {
    await this.#find(name);
    const choices = (await this.#choicesOf(argument)) ?? [];
    return lists.includes(argument)
      ? suggestNext(typed, choices)
      : suggest(typed, choices);
  }

  async #offered(): Promise<PromptFile[]> {
    const { config } = this.#host;
    const hasName = config.councilDoor?.agentName !== undefined;
    return (await readPrompts())
      .filter(({ toolsets }) =>
        toolsets.every((toolset) => hasToolset(config, toolset))
      )
      .map((prompt) => (hasName ? withoutName(prompt) : prompt));
  }

  async #find(name: string): Promise<PromptFile> {
    const offered = await this.#offered();
    const found = offered.find((prompt) => prompt.name === name);
    if (found) return found;
    const names = offered.map((prompt) => prompt.name).join(', ');
    throw invalidParams(
      `There is no prompt "${shortened(name)}". Prompts of this server: ${names}.`
    );
  }

  async #valueOf(
    argument: Argument,
    all: Record<string, string>
  ): Promise<Value> {
    const { name, default: fallback = '' } = argument;
    const text = all[name]?.trim() || undefined;
    const choices = text ? await this.#choicesOf(name) : undefined;
    if (text === undefined || !choices) return { text, fallback };
    const named = lists.includes(name) ? partsOf(text) : [text];
    if (named.every((one) => choices.includes(one))) return { text, fallback };
    return { text, fallback, note: `(this server has ${choices.join(', ')})` };
  }

  /** The values that an argument may have; undefined if any is allowed. */
  async #choicesOf(argument: string): Promise<string[] | undefined> {
    const { registry, processes, keys, squads } = this.#host;
    if (argument === 'access') return accesses;
    if (argument === 'roles')
      return (await squads.roles()).roles.map(({ id }) => id);
    if (argument !== 'engine' && argument !== 'engines') return undefined;
    const ready = readyEngineNames(registry, processes, keys);
    const others = registry.all().map(({ name }) => name);
    return [...new Set([...ready, ...others])];
  }
}

/** @throws ProtocolError */
function checkArguments(
  { name, arguments: all }: PromptFile,
  values: Record<string, string>
): void {
  const names = all.map((argument) => argument.name);
  const foreign = Object.keys(values).find((key) => !names.includes(key));
  if (foreign !== undefined)
    throw invalidParams(
      `The prompt ${name} has no argument "${shortened(foreign)}". Arguments: ${names.join(', ')}.`
    );
  const missing = all.find(
    (argument) => argument.required && !values[argument.name]?.trim()
  );
  if (missing)
    throw invalidParams(
      `The prompt ${name} needs its argument "${missing.name}": ${missing.description}.`
    );
}

/** A server that was started with an agent name does not ask for one. */
function withoutName(prompt: PromptFile): PromptFile {
  const others = prompt.arguments.filter(({ name }) => name !== 'agent_name');
  return { ...prompt, arguments: others };
}

const byServer =
  '(the server puts it in by itself: the tools do not ask for `agent_name`)';

interface Line {
  /** The value of each argument, by name. */
  values: Record<string, string>;
  /** Text after the first argument. */
  note?: string;
}

/**
 * Joins the words of a line that Claude Code has split at spaces. Claude Code
 * passes one word for each argument and drops the rest, but its model also sees
 * the whole line; the note points the model to that line.
 */
export function joinedLine(
  { arguments: all }: Pick<PromptFile, 'arguments'>,
  values: Record<string, string>,
  clientName: string
): Line {
  const [first] = all;
  const words = all.flatMap(({ name }) => values[name] ?? []);
  const isCut =
    /claude-code/i.test(clientName) && words.every((word) => !/\s/.test(word));
  if (!first || !isCut) return { values };
  const others = all.slice(1).map(({ name }) => `\`${name}\``);
  return {
    values: { [first.name]: words.join(' ') },
    note: `These may be the first words only. The whole line is in \`<command-args>\` above, and that counts; it may name ${others.join(' and ') || 'more'}, too.`
  };
}

export interface Value {
  /** The text of the user. */
  text: string | undefined;
  /** Replaces a missing value. */
  fallback: string;
  /** Text after the value. */
  note?: string | undefined;
}

/**
 * Replaces the placeholders of a template. One on its own line becomes a code
 * block, any other one a code span. The delimiters have more backticks than the
 * value has in a row, so that no value can imitate the text around it.
 */
export function fill(body: string, values: Map<string, Value>): string {
  // One pass: a placeholder in a value is not replaced.
  return body.replace(
    /^\{\{(\w+)\}\}$|\{\{(\w+)\}\}/gm,
    (placeholder, alone?: string, within?: string) => {
      const value = values.get(alone ?? within ?? '');
      if (!value) return placeholder;
      const { text, fallback, note } = value;
      if (text === undefined) return fallback;
      const isAlone = alone !== undefined;
      const shown = isAlone ? fence(text) : span(text);
      if (note === undefined) return shown;
      return `${shown}${isAlone ? '\n\n' : ' '}${note}`;
    }
  );
}

function fence(text: string): string {
  const marks = '`'.repeat(Math.max(3, longestTicks(text) + 1));
  return `${marks}text\n${text.replace(notShown, '')}\n${marks}`;
}

function span(text: string): string {
  const marks = '`'.repeat(longestTicks(text) + 1);
  const line = collapseWhitespace(text.replace(notShown, ''));
  // The space separates a backtick at the edge from the marks.
  const edge = /^`|`$/.test(line) ? ' ' : '';
  return `${marks}${edge}${line}${edge}${marks}`;
}

/** Control characters except tab and line feed, and direction marks. */
const notShown =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function longestTicks(text: string): number {
  let most = 0;
  for (const [run] of text.matchAll(/`+/g)) most = Math.max(most, run.length);
  return most;
}
