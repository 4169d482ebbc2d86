import { randomUUID } from 'node:crypto';
import { basename, isAbsolute, resolve } from 'node:path';
import type { CliEngine, Engine, EngineRequest } from '../../plugin.ts';
import type { RunRecord } from '../runs/run.ts';
import { type EngineRegistry, labelOf } from './engine-registry.ts';
import type { Rendered, Template, Values } from './template.ts';

export interface TemplateEngineParts {
  name: string;
  registry: EngineRegistry;
  template: Template;
  /** The program, in front of what the template gives. */
  engineCommand: string | undefined;
  /** Where a program's relative path starts. */
  workspace: string;
  /** Names of variables that the program gets beside its engine's. */
  variables: string[];
  /** What the template may name beside what is asked of the engine. */
  values: Values;
  /** It will have a chat that is not made yet. */
  awaitsChat: boolean;
}

/**
 * An engine made from a template: any program that takes its prompt as an
 * argument or on stdin, and whose stdout is its answer. It is made for one
 * agent.
 * @throws HostError `template_invalid`
 */
export function templateEngine(
  parts: TemplateEngineParts,
  request: EngineRequest
): CliEngine {
  const { name, registry, template, variables, workspace } = parts;
  // Its form, for what is found out before it is there.
  const id = randomUUID();
  const rendered = (asked: EngineRequest) =>
    renderFor(
      template,
      parts.awaitsChat ? { sessionId: id, ...asked } : asked,
      parts
    );
  const isNew = !parts.awaitsChat && request.sessionId === undefined;
  const first = rendered(isNew ? { ...request, newSessionId: id } : request);
  const { command, used } = first;
  const named = registry.known(name);
  // What it needs to know goes by the program, whatever it is called here.
  const own = registry.ofProgram(command);
  const base = own ?? (named?.kind === 'cli' ? named : undefined);
  const { createChat } = own ?? {};
  const { failure } = named ?? {};
  return {
    kind: 'cli',
    name,
    label: named ? labelOf(named) : name,
    description: `The program of ${template.path}.`,
    command: programAt(command, workspace),
    args: (asked) => rendered(asked).args,
    // A prompt that no argument holds goes to stdin.
    stdin: ({ prompt }) =>
      used.has('prompt') || used.has('task') ? '' : prompt,
    env: { ...base?.env, keep: [...(base?.env?.keep ?? []), ...variables] },
    // It may be silent until its end.
    idleTimeoutSeconds: 0,
    oneAtATime: base?.oneAtATime ?? false,
    resumes: true,
    takesSessionId: used.has('newChatId'),
    ...(own?.install === undefined ? {} : { install: own.install }),
    ...(createChat ? { createChat } : {}),
    ...(failure ? { failure } : {})
  };
}

/** A relative path starts at the workspace; a name is looked up on PATH. */
export function programAt(command: string, workspace: string): string {
  const isPath = basename(command) !== command && !isAbsolute(command);
  return isPath ? resolve(workspace, command) : command;
}

/**
 * What reads an agent's output. That of a template is plain text, whatever
 * engine it is named after.
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

function renderFor(
  template: Template,
  request: EngineRequest,
  { values, engineCommand }: TemplateEngineParts
): Rendered {
  const { prompt, sessionId, newSessionId, model, access, cwd } = request;
  const all = {
    ...values,
    prompt,
    chatId: sessionId,
    newChatId: newSessionId,
    model,
    access,
    cwd
  };
  return template.render(all, engineCommand);
}
