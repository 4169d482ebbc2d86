import type { Digests } from '../state/digests.ts';

/**
 * How squads run. The user settles it; who starts a squad never chooses.
 * Paths are absolute.
 */
export interface SquadSettings {
  /** With chats, members remember what was said to them. */
  stateMode: 'stateless' | 'stateful';
  /** Undefined: the default, when it is offered. */
  engine?: string | undefined;
  /** Its program, in the place of the engine's own. */
  engineCommand?: string | undefined;
  /** Takes the place of the engine's own arguments. */
  runTemplatePath?: string | undefined;
  /** Makes a chat and prints its id. */
  createChatTemplatePath?: string | undefined;
  /** Templates that count with this content only. */
  pinnedTemplates?: Digests;
  /** Until a member is stopped. */
  timeoutSeconds: number;
  /** Undefined: as the engine is best used. */
  executionMode?: 'parallel' | 'sequential' | undefined;
  /** Between two that run one after another. */
  sequentialDelayMs: number;
  /** Variables that templates may name and their programs get. */
  templateVariables: string[];
}

export const defaultEngine = 'claude';
