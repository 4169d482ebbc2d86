/** The terminal output of scripts/demo.mjs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const colours = process.stdout.isTTY && !process.env.NO_COLOR;
const painted = (code) => (text) =>
  colours ? `\u001b[${code}m${text}\u001b[0m` : text;
const [bold, dim, red, green, cyan] = [1, 2, 31, 32, 36].map(painted);

/** The length limit of a line, so that the terminal does not wrap it. */
const width = Math.min(process.stdout.columns ?? 100, 100);

/** For recordings, whose viewers read along. */
const pauseMs = Number(process.env.DEMO_PAUSE_SECONDS ?? 0) * 1000;

export async function heading(text) {
  if (pauseMs > 0) await setTimeout(pauseMs);
  goingOn(text);
}

/** A heading without a pause, while agents are at work. */
export const goingOn = (text) => console.log(`\n${bold(text)}`);

export const tell = (text) => console.log(`   ${text}`);
export const came = (text) => console.log(`   ← ${text}`);
export const quiet = (text) =>
  console.log(`     ${dim(shortened(text, width - 5))}`);
export const since = (began) => `${Math.round(performance.now() - began)} ms`;

export function shortened(text, length) {
  const line = (text ?? '').replace(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** A command for the reader to type. */
export const command = (text) => console.log(`\n   ${cyan(text)}\n`);

/** Prints a call as JSON, with a shortened prompt so that the rest fits. */
export function sent(tool, input) {
  const room = width - `   → ${tool} ${JSON.stringify(input)}`.length;
  const prompt = input.prompt?.split('\n')[0];
  const fits = prompt === input.prompt && room >= 0;
  const length = room + (input.prompt?.length ?? 0) - 1;
  const shown = fits || !prompt ? prompt : cutTo(prompt, length);
  const facts = prompt ? { ...input, prompt: shown } : input;
  const json = shortened(JSON.stringify(facts), width - tool.length - 6);
  console.log(`   → ${cyan(tool)} ${json}`);
}

function cutTo(prompt, length) {
  return `${prompt.slice(0, Math.max(12, length))}…`;
}

/** Prints words on as many lines as needed. */
export function listed(title, words, separator) {
  let line = title;
  for (const [index, word] of words.entries()) {
    const next = index < words.length - 1 ? word + separator : word;
    if (line.length + next.length > width - 3) {
      tell(line.trimEnd());
      line = '  ';
    }
    line += next;
  }
  tell(line);
}

/** Prints the end of one agent on one line. */
export function ending({ agent_id, agent_type, status, result, ...failure }) {
  const done = status === 'completed';
  const summary = done
    ? result?.trim().split('\n').at(-1)
    : `${status} (${failure.error_code}): ${failure.error}`;
  const label = `#${agent_id} ${agent_type}: `;
  const text = label + shortened(summary, width - label.length - 7);
  console.log(`     ${done ? green('✓') : red('✗')} ${text}`);
}

export function price({ cost_usd, usage }) {
  const dollars = cost_usd === null ? 'cost unknown' : `$${cost_usd}`;
  const tokens = usage ? `${usage.total_tokens} tokens` : 'tokens unknown';
  return `${dollars}, ${tokens}`;
}

/** Prints the log: the entry of each agent, the last one in full. */
export async function showLog(workspace) {
  const log = readFileSync(join(workspace, 'logs', 'IAC.md'), 'utf8');
  // The first part also has the head of the file.
  const entries = log
    .split('\n---\n')
    .map((part) => part.slice(part.search(/^### /m)))
    .filter((part) => part.startsWith('### '));
  const lines = log.trimEnd().split('\n').length;
  await heading('6. What people read afterwards: logs/IAC.md');
  tell(dim(`(without the inputs and outputs of all but one; ${lines} lines)`));
  for (const [index, entry] of entries.entries()) {
    const shown = entry.trim().split('\n');
    const part = index < entries.length - 1 ? shown.slice(0, 2) : shown;
    console.log(`\n${part.map((line) => shortLine(line)).join('\n')}`);
  }
  console.log();
  tell('It is a view of the journal, which is in the record outside of the');
  tell('project. "npm run demo -- --keep" leaves both for you to look at.');
}

function shortLine(line) {
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** Prints the next steps for the user. */
export async function showNext(troupe) {
  await heading('Next: give these tools to your own agent');
  tell('In the directory of your project:');
  command(`node ${troupe} init`);
  tell('It finds your clients (Claude Code, Codex, Gemini CLI, Copilot CLI,');
  tell('Cursor, VS Code), asks what agents may do, shows what it writes, and');
  tell('tries it. Then start your client there and say:');
  command(
    'Have Codex review my last commit, read-only, and check what it says.'
  );
}
