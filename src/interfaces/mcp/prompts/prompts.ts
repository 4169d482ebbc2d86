import { hasToolset } from '../../../config.ts';
import { locateReady } from '../../../core/engines/readiness.ts';
import type { Host } from '../../../host.ts';
import { shortened } from '../define-tool.ts';
import { invalidParams } from '../protocol-error.ts';
import { fill, type Value } from './fill.ts';
import type { PromptFile } from './prompt-file.ts';
import { readPrompts } from './read-prompts.ts';
import { joinedLine } from './split-line.ts';
import { type Completion, partsOf, suggest, suggestNext } from './suggest.ts';

type Argument = PromptFile['arguments'][number];

export interface ListedPrompt {
  name: string;
  title: string;
  description: string;
  arguments: Pick<Argument, 'name' | 'description' | 'required'>[];
}

const accesses = ['read', 'write', 'full'];

/** Those whose value is one or several of a choice. */
const lists = ['engines', 'roles'];

/** Texts for a user to start with, as far as the tools they name are there. */
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
        arguments: all.map(({ default: absent, ...told }) => told)
      })
    );
  }

  /**
   * The text with the user's values in it.
   * @throws ProtocolError when there is no such prompt, or a value is missing
   *   or one too many
   */
  async get(
    name: string,
    given: Record<string, string>,
    clientName: string
  ): Promise<{ description: string; text: string }> {
    const prompt = await this.#find(name);
    checkArguments(prompt, given);
    const line = joinedLine(prompt, given, clientName);
    const values = new Map<string, Value>();
    for (const [index, argument] of prompt.arguments.entries()) {
      const value = await this.#valueOf(argument, line.given);
      const { note = index === 0 ? line.note : undefined } = value;
      values.set(argument.name, { ...value, note });
    }
    const ownName = this.#host.config.councilDoor?.agentName;
    if (ownName !== undefined)
      values.set('agent_name', { given: ownName, absent: '', note: byServer });
    const { description, body } = prompt;
    return { description, text: fill(body, values) };
  }

  /** @throws ProtocolError when there is no such prompt */
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
    const { name, default: absent = '' } = argument;
    const given = all[name]?.trim() || undefined;
    const choices = given ? await this.#choicesOf(name) : undefined;
    if (given === undefined || !choices) return { given, absent };
    const named = lists.includes(name) ? partsOf(given) : [given];
    if (named.every((one) => choices.includes(one))) return { given, absent };
    return { given, absent, note: `(this server has ${choices.join(', ')})` };
  }

  /** What an argument may be; undefined where that is free. */
  async #choicesOf(argument: string): Promise<string[] | undefined> {
    const { registry, processes, keys, squads } = this.#host;
    if (argument === 'access') return accesses;
    if (argument === 'roles')
      return (await squads.roles()).roles.map(({ id }) => id);
    if (argument !== 'engine' && argument !== 'engines') return undefined;
    const ready = locateReady(registry, processes, keys);
    const others = registry.all().map(({ name }) => name);
    return [...new Set([...ready, ...others])];
  }
}

/** @throws ProtocolError */
function checkArguments(
  { name, arguments: all }: PromptFile,
  given: Record<string, string>
): void {
  const names = all.map((argument) => argument.name);
  const foreign = Object.keys(given).find((key) => !names.includes(key));
  if (foreign !== undefined)
    throw invalidParams(
      `The prompt ${name} has no argument "${shortened(foreign)}". Arguments: ${names.join(', ')}.`
    );
  const missing = all.find(
    (argument) => argument.required && !given[argument.name]?.trim()
  );
  if (missing)
    throw invalidParams(
      `The prompt ${name} needs its argument "${missing.name}": ${missing.description}.`
    );
}

/** Who was given a name at the start of the server is not asked for it. */
function withoutName(prompt: PromptFile): PromptFile {
  const others = prompt.arguments.filter(({ name }) => name !== 'agent_name');
  return { ...prompt, arguments: others };
}

const byServer =
  '(the server puts it in by itself: the tools do not ask for `agent_name`)';
