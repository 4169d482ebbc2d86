import type { Engine } from '../src/plugin/plugin.ts';
import claude from './claude.ts';
import claudeApi from './claude-api.ts';
import codex from './codex.ts';
import copilot from './copilot.ts';
import cursorAgent from './cursor-agent.ts';
import gemini from './gemini.ts';
import geminiCli from './gemini-cli.ts';
import grok from './grok.ts';
import mistral from './mistral.ts';
import openai from './openai.ts';
import rehearsal from './rehearsal/rehearsal.ts';

/** Engines that are offered unless they are switched off. */
export const builtinEngines = inOrder([
  claude,
  codex,
  copilot,
  cursorAgent,
  gemini,
  geminiCli,
  grok,
  mistral
]);

/** Engines that are offered if they are named or have a key. */
export const optionalEngines = inOrder([claudeApi, openai, rehearsal]);

/** File-capable engines first; each kind sorted by name. */
function inOrder(engines: Engine[]): Engine[] {
  // The first call of localeCompare would add 4 ms to each start.
  return engines.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function rank({ kind, name }: Engine): string {
  return `${kind === 'cli' ? 1 : 2} ${name}`;
}
