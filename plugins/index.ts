import type { Engine } from '../src/plugin.ts';
import claude from './claude.ts';
import codex from './codex.ts';
import rehearsal from './rehearsal.ts';

/** Offered unless switched off. */
export const builtinEngines: Engine[] = [claude, codex];

/** Offered only when the configuration or a flag names them. */
export const optionalEngines: Engine[] = [rehearsal];
