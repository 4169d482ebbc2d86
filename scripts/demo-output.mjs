/** What scripts/demo.mjs shows on the terminal. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const colours = process.stdout.isTTY && !process.env.NO_COLOR;
const painted = (code) => (text) =>
  colours ? `\u001b[${code}m${text}\u001b[0m` : text;
const [bold, dim, red, green] = [1, 2, 31, 32].map(painted);

export const heading = (text) => console.log(`\n${bold(text)}`);
export const tell = (text) => console.log(`   ${text}`);
export const sent = (text) => console.log(`   → ${text}`);
export const came = (text) => console.log(`   ← ${text}`);
export const detail = (text) => console.log(`     ${text}`);
export const quiet = (text) => detail(dim(text));
export const since = (began) => `${Math.round(performance.now() - began)} ms`;

export function shortened(text, length) {
  const line = (text ?? '').replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** One agent's end on one line. */
export function ending({ agent_id, agent_type, status, result, ...failure }) {
  const said = result?.trim().split('\n').at(-1);
  return status === 'completed'
    ? `${green('✓')} #${agent_id} ${agent_type} ${status}: ${shortened(said, 100)}`
    : `${red('✗')} #${agent_id} ${agent_type} ${status} (${failure.error_code}): ${shortened(failure.error, 100)}`;
}

export function price({ cost_usd, usage }) {
  const dollars = cost_usd === null ? 'cost unknown' : `$${cost_usd}`;
  const tokens = usage ? `${usage.total_tokens} tokens` : 'tokens unknown';
  return `${dollars}, ${tokens}`;
}

/** The log that was written, and the other files beside it. */
export function showLogs(workspace) {
  const log = readFileSync(join(workspace, 'logs', 'IAC.md'), 'utf8');
  heading('6. What people read afterwards: logs/IAC.md');
  console.log(`\n${log.trimEnd()}\n`);
  tell('Beside it: logs/CONTEXT.md, who is at work; logs/iac.jsonl, the');
  tell('journal that IAC.md is made from; and a folder for each agent:');
  const spawns = join(workspace, '.agents', 'spawns');
  for (const agent of readdirSync(spawns).filter((name) => name[0] !== '.')) {
    const files = readdirSync(join(spawns, agent));
    tell(`.agents/spawns/${agent}/ ${files.join(' ')}`);
  }
}

export function showNext(troupe) {
  const entry = { type: 'stdio', command: 'node', args: [troupe, 'mcp'] };
  heading('Next: give it to your own agent');
  tell(
    "Put this into your project's .mcp.json (Claude Code), start the client"
  );
  tell('and say "delegate this to Codex". Other clients: docs/clients.md.');
  console.log(
    `\n${JSON.stringify({ mcpServers: { agents: entry } }, null, 2)}\n`
  );
}
