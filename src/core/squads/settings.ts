import type { Digests } from '../state/integrity/digests.ts';

/**
 * How squads run. The user decides this, never the caller that starts a squad.
 * Paths are absolute.
 */
export interface SquadSettings {
  /** Stateful members have chats that continue. */
  stateMode: 'stateless' | 'stateful';
  /** Undefined when members use `defaultEngine`. */
  engine?: string | undefined;
  defaultEngine: string;
  /** Replaces the engine's program. */
  engineCommand?: string | undefined;
  /** Replaces the engine's arguments. */
  runTemplatePath?: string | undefined;
  /** A command that creates a chat and prints its id. */
  createChatTemplatePath?: string | undefined;
  /** Templates that are valid only with this content. */
  pinnedTemplates?: Digests;
  /** Time limit of a member. */
  timeoutSeconds: number;
  /** Default: sequential for engines that run one at a time. */
  executionMode?: 'parallel' | 'sequential' | undefined;
  /** Pause between two sequential members. */
  sequentialDelayMs: number;
  /** Variables that templates may use, and that their programs get. */
  templateVariables: string[];
}
