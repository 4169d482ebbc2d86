import { randomUUID } from 'node:crypto';
import { basename, isAbsolute, resolve } from 'node:path';
import type {
  CliEngine,
  Engine,
  EngineRequest
} from '../../../plugin/plugin.ts';
import type { RunRecord } from '../../runs/run.ts';
import { collapseWhitespace, visibleText } from '../../text.ts';
import { type EngineRegistry, labelOf } from '../engine-registry.ts';
import type { Template, Values } from './template.ts';

export interface TemplateEngineParts {
  /** The user's name for the engine; defaults to the name of its program. */
  name: string | undefined;
  registry: EngineRegistry;
  template: Template;
  /** The program, unless the template begins with it. */
  engineCommand: string | undefined;
  /** Relative paths of programs are resolved here. */
  workspace: string;
  /** Names of variables that the program receives in addition to its engine's. */
  variables: string[];
  /** Values in addition to the request. */
  values: Values;
  /** True when a chat is created before the agent starts. */
  awaitsChat: boolean;
}

/**
 * Creates an engine for one agent from a template. The program takes its prompt
 * as an argument or on stdin and prints its answer to stdout.
 * @throws HostError `template_invalid`
 */
export function templateEngine(
  parts: TemplateEngineParts,
  request: EngineRequest
): CliEngine {
  const { registry, template, variables, workspace } = parts;
  // A placeholder: the session id is not known yet at the first rendering.
  const id = randomUUID();
  const render = ({ sessionId, newSessionId, ...current }: EngineRequest) => {
    const { prompt, model, access, cwd } = current;
    const chatId = sessionId ?? (parts.awaitsChat ? id : undefined);
    const own = { prompt, chatId, newChatId: newSessionId, model, access, cwd };
    return template.render({ ...parts.values, ...own }, parts.engineCommand);
  };
  const isNew = !parts.awaitsChat && request.sessionId === undefined;
  const first = render(isNew ? { ...request, newSessionId: id } : request);
  const { command, used } = first;
  // Requirements depend on the program, not on the name of the engine.
  const own = registry.ofProgram(command);
  const { name, label, named } = namingOf(parts, command, own);
  const base = own ?? (named?.kind === 'cli' ? named : undefined);
  const { createChat } = own ?? {};
  const { failure } = named ?? {};
  return {
    kind: 'cli',
    name,
    label,
    description: `The program of ${template.path}.`,
    command: programAt(command, workspace),
    args: (current) => render(current).args,
    // The prompt goes to stdin unless an argument contains it.
    stdin: ({ prompt }) =>
      used.has('prompt') || used.has('task') ? '' : prompt,
    env: { ...base?.env, keep: [...(base?.env?.keep ?? []), ...variables] },
    // The program may print nothing until it ends.
    idleTimeoutSeconds: 0,
    oneAtATime: base?.oneAtATime ?? false,
    resumes: true,
    takesSessionId: used.has('newChatId'),
    ...(own?.install === undefined ? {} : { install: own.install }),
    ...(createChat ? { createChat } : {}),
    ...(failure ? { failure } : {})
  };
}

/**
 * The name of an engine, and the registered engine of that name. The default
 * is the name of the registered engine that runs this program by its bare
 * name, else the name of the program.
 */
function namingOf(
  { name, registry }: TemplateEngineParts,
  command: string,
  own: CliEngine | undefined
): { name: string; label: string; named: Engine | undefined } {
  const isKnown = own && basename(own.command) === own.command;
  const named =
    name === undefined && isKnown ? own : registry.known(name ?? '');
  const plain = name ?? (displayNameOf(basename(command)) || 'program');
  return named
    ? { name: named.name, label: labelOf(named), named }
    : { name: plain, label: plain, named: undefined };
}

/** Sanitizes and shortens a name for lists and logs. */
function displayNameOf(name: string): string {
  return collapseWhitespace(visibleText(name)).slice(0, 60);
}

/** Resolves a relative path in the workspace; bare names are left for PATH. */
export function programAt(command: string, workspace: string): string {
  const isPath = basename(command) !== command && !isAbsolute(command);
  return isPath ? resolve(workspace, command) : command;
}

/**
 * The engine that reads an agent's output. The output of a template is plain
 * text, even if the agent has the name of a registered engine.
 */
export function readerOf(
  { engine: name, template }: RunRecord,
  registry: EngineRegistry
): Engine | undefined {
  const known = registry.known(name);
  if (template === undefined) return known;
  const { failure } = known ?? {};
  return {
    kind: 'cli',
    name,
    description: `The program of ${template}.`,
    command: name,
    args: () => [],
    ...(failure ? { failure } : {})
  };
}
