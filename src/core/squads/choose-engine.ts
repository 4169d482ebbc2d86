import { randomUUID } from 'node:crypto';
import type { CliEngine, Engine, EngineRequest } from '../../plugin.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import { readTemplate, type Template } from '../engines/template.ts';
import { programAt, templateEngine } from '../engines/template-engine.ts';
import { HostError } from '../errors.ts';
import type { Command } from '../runs/spawn-request.ts';
import { changedSince, type Digests } from '../state/digests.ts';
import type { Role } from './role-file.ts';
import { defaultEngine, type SquadSettings } from './settings.ts';

/** The templates of the settings, read for one call. */
export interface Templates {
  run: Template | undefined;
  createChat: Template | undefined;
}

export interface ChosenEngine {
  engine: Engine;
  /** When it is not the registered one of its name. */
  as?: CliEngine;
  template?: string;
  createChat?: Command;
  /** Why it has no chats to begin or to go on with. */
  noChats?: string;
}

/** @throws HostError `template_invalid` */
export async function readTemplates({
  runTemplatePath: run,
  createChatTemplatePath: createChat,
  pinnedTemplates = {}
}: SquadSettings): Promise<Templates> {
  const read = (path: string | undefined) => {
    if (path === undefined) return undefined;
    checkPinned(path, pinnedTemplates);
    return readTemplate(path);
  };
  return { run: await read(run), createChat: await read(createChat) };
}

/** An agent could have changed it since the user trusted it. */
function checkPinned(path: string, pinned: Digests): void {
  const digest = pinned[path];
  if (digest === undefined || !changedSince({ [path]: digest })) return;
  throw new HostError(
    'template_invalid',
    `${path} has changed since the user trusted this workspace.`,
    'The user can look at it and trust it again with "troupe trust", and then restart this server.'
  );
}

/** What a member is asked, and what its engine is chosen by. */
export interface MemberWork extends EngineRequest {
  task: string;
  /** Where a program's relative path starts. */
  workspace: string;
}

/**
 * What a member runs on: the template when there is one, else the role's own
 * engine, else that of the settings. A chat is made for members without one.
 * @throws HostError `unknown_engine`, `template_invalid`
 */
export function chooseEngine(
  role: Role,
  work: MemberWork,
  settings: SquadSettings,
  templates: Templates,
  registry: EngineRegistry
): ChosenEngine {
  const values = {
    ...Object.fromEntries(
      settings.templateVariables.map((name) => [name, process.env[name]])
    ),
    STATE_MODE: settings.stateMode,
    roleId: role.id,
    task: work.task
  };
  const isNew = settings.stateMode === 'stateful' && !work.sessionId;
  const given =
    isNew && templates.createChat
      ? chatCommand(templates.createChat, values, work, settings)
      : undefined;
  const { createChat: own, ...chosen } = templates.run
    ? fromTemplate(
        templates.run,
        { values, isNew, createChat: given },
        work,
        settings,
        registry
      )
    : fromRegistry(role, work, settings, registry);
  const createChat = isNew ? (given ?? own) : undefined;
  return { ...chosen, ...(createChat ? { createChat } : {}) };
}

type TemplateValues = Record<string, string | undefined>;

function chatCommand(
  template: Template,
  values: TemplateValues,
  { cwd, workspace }: MemberWork,
  { engineCommand }: SquadSettings
): Command {
  const uuid = randomUUID();
  const given = { ...values, cwd, newChatId: uuid, generatedUuid: uuid };
  const { command, args } = template.render(given, engineCommand);
  return { command: programAt(command, workspace), args };
}

/** The run template's engine; a chat is made first where one is needed. */
function fromTemplate(
  template: Template,
  {
    values,
    isNew,
    createChat
  }: {
    values: TemplateValues;
    isNew: boolean;
    createChat: Command | undefined;
  },
  work: MemberWork,
  settings: SquadSettings,
  registry: EngineRegistry
): ChosenEngine {
  const made = (awaitsChat: boolean) =>
    templateEngine(
      {
        name: settings.engine ?? defaultEngine,
        registry,
        template,
        engineCommand: settings.engineCommand,
        workspace: work.workspace,
        variables: settings.templateVariables,
        values,
        awaitsChat
      },
      work
    );
  const engine = made(createChat !== undefined);
  const chosen = { engine, as: engine, template: template.path };
  if (!isNew || createChat || engine.takesSessionId) return chosen;
  if (engine.createChat) {
    const waiting = made(true);
    const { command } = engine;
    return {
      ...chosen,
      engine: waiting,
      as: waiting,
      createChat: { command, args: engine.createChat }
    };
  }
  return {
    ...chosen,
    noChats: `${template.path} begins no chat: it has no newChatId, and CREATE_CHAT_TEMPLATE_PATH is not set`
  };
}

function fromRegistry(
  role: Role,
  { workspace }: MemberWork,
  settings: SquadSettings,
  registry: EngineRegistry
): ChosenEngine {
  const registered = engineOf(role, settings, registry);
  if (registered.kind === 'api') return { engine: registered };
  const { engineCommand: command } = settings;
  const own = role.engine === undefined ? command : undefined;
  const engine =
    own === undefined
      ? registered
      : registry.withProgram(registered, programAt(own, workspace));
  const { createChat, resumes } = engine;
  return {
    engine,
    ...(engine === registered ? {} : { as: engine }),
    ...(createChat
      ? {
          createChat: {
            command: registry.commandOf(engine),
            args: [...registry.argumentsBefore(registered), ...createChat]
          }
        }
      : {}),
    ...(resumes ? {} : { noChats: `${labelOf(engine)} keeps no chats` })
  };
}

function engineOf(
  role: Role,
  settings: SquadSettings,
  registry: EngineRegistry
): Engine {
  const name = role.engine ?? settings.engine ?? defaultEngine;
  const engine = registry.find(name);
  if (engine) return engine;
  const offered = registry.all().map((one) => one.name);
  throw role.engine === undefined
    ? new HostError(
        'unknown_engine',
        `Squads run on "${name}", and this server does not offer that engine.`,
        `The user can start it with ENGINE set to one of: ${offered.join(', ')}.`
      )
    : new HostError(
        'unknown_engine',
        `The role wants the engine "${name}", and this server does not offer it.`,
        `Offered: ${offered.join(', ')}. The user can change "engine" in the role's file, or switch the engine on.`
      );
}
