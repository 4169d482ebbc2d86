import { randomUUID } from 'node:crypto';
import type { CliEngine, Engine, EngineRequest } from '../../plugin/plugin.ts';
import { type EngineRegistry, labelOf } from '../engines/engine-registry.ts';
import {
  readTemplate,
  type Template,
  type Values
} from '../engines/template/template.ts';
import {
  programAt,
  type TemplateEngineParts,
  templateEngine
} from '../engines/template/template-engine.ts';
import { HostError } from '../errors.ts';
import type { Command } from '../runs/spawn-request.ts';
import { changedSince, type Digests } from '../state/integrity/digests.ts';
import type { Role } from './role-file.ts';
import type { SquadSettings } from './settings.ts';

/** The templates of the settings, as read for one call. */
export interface Templates {
  run: Template | undefined;
  createChat: Template | undefined;
}

export interface ChosenEngine {
  engine: Engine;
  /** Set if it differs from the registered engine of its name. */
  as?: CliEngine;
  template?: string;
  createChat?: Command;
  /** Why it can neither start nor continue a chat; undefined if it can. */
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

/** An agent may have changed the file since the user trusted it. */
function checkPinned(path: string, pinned: Digests): void {
  const digest = pinned[path];
  if (digest === undefined || !changedSince({ [path]: digest })) return;
  throw new HostError(
    'template_invalid',
    `${path} has changed since the user trusted this workspace.`,
    'The user can look at it and trust it again with "troupe trust", and then restart this server.'
  );
}

/** The part of a member's request that decides its engine. */
interface MemberWork extends EngineRequest {
  task: string;
  /** Relative paths of programs are resolved against this directory. */
  workspace: string;
}

/**
 * Chooses the engine of a member: the run template if there is one, else the
 * role's engine, else the engine of the settings. A stateful member without a
 * chat also gets the command that creates one.
 * @throws HostError `unknown_engine`, `template_invalid`
 */
export function chooseEngine(
  role: Role,
  work: MemberWork,
  settings: SquadSettings,
  templates: Templates,
  registry: EngineRegistry
): ChosenEngine {
  const { engineCommand, templateVariables: variables, stateMode } = settings;
  const { workspace } = work;
  const values = {
    ...Object.fromEntries(variables.map((name) => [name, process.env[name]])),
    STATE_MODE: stateMode,
    roleId: role.id,
    task: work.task
  };
  const isNew = stateMode === 'stateful' && !work.sessionId;
  const fromSettings =
    isNew && templates.createChat
      ? chatCommand(templates.createChat, values, work, engineCommand)
      : undefined;
  const template = templates.run;
  const name = settings.engine;
  const { createChat: own, ...chosen } = template
    ? fromTemplate(
        {
          name,
          registry,
          template,
          engineCommand,
          workspace,
          variables,
          values
        },
        work,
        isNew,
        fromSettings
      )
    : fromRegistry(role, work, settings, registry);
  const createChat = isNew ? (fromSettings ?? own) : undefined;
  return { ...chosen, ...(createChat ? { createChat } : {}) };
}

function chatCommand(
  template: Template,
  values: Values,
  { cwd, workspace }: MemberWork,
  engineCommand: string | undefined
): Command {
  const uuid = randomUUID();
  const allValues = { ...values, cwd, newChatId: uuid, generatedUuid: uuid };
  const { command, args } = template.render(allValues, engineCommand);
  return { command: programAt(command, workspace), args };
}

/** The run template's engine, with a command for a new chat if needed. */
function fromTemplate(
  parts: Omit<TemplateEngineParts, 'awaitsChat'>,
  work: MemberWork,
  isNew: boolean,
  createChat: Command | undefined
): ChosenEngine {
  const { path: template } = parts.template;
  const awaitsChat = createChat !== undefined;
  const engine = templateEngine({ ...parts, awaitsChat }, work);
  const chosen = { engine, as: engine, template };
  if (!isNew || createChat || engine.takesSessionId) return chosen;
  const { command, createChat: args } = engine;
  if (!args) {
    const noChats = `${template} begins no chat: it has no newChatId, and CREATE_CHAT_TEMPLATE_PATH is not set`;
    return { ...chosen, noChats };
  }
  const waiting = templateEngine({ ...parts, awaitsChat: true }, work);
  return {
    engine: waiting,
    as: waiting,
    template,
    createChat: { command, args }
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
  const name = role.engine ?? settings.engine ?? settings.defaultEngine;
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
