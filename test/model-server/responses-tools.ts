import type { Offer, ToolAction, Turn } from './actions.ts';
import type { ToolCall } from './answer.ts';
import { type Json, record, records, string } from './json.ts';

/** Codex offers its model one tool that runs JavaScript and can call every other tool. */
const CODE_MODE = 'functions/exec';

/** `name`, or `namespace/name`. Newer models get theirs as an input item. */
export function offersIn(body: Json): Offer[] {
  const added = records(body.input)
    .filter((item) => item.type === 'additional_tools')
    .flatMap((item) => records(item.tools));
  return [...records(body.tools), ...added].flatMap((tool) => {
    const name = string(tool.name) || string(tool.type);
    if (tool.type !== 'namespace') return [offer(name, tool)];
    return records(tool.tools).map((inner) =>
      offer(`${name}/${string(inner.name)}`, inner)
    );
  });
}

function offer(name: string, { description, parameters }: Json): Offer {
  const schema = record(parameters);
  return { name, description: string(description), schema };
}

/** The call that Codex's own tools take for an action. */
export function toolCall(action: ToolAction, turn: Turn): ToolCall {
  if (action.do === 'tool' && turn.tools.includes(`functions/${action.name}`)) {
    const freeform = string(record(action.arguments).input);
    return { name: action.name, namespace: 'functions', freeform, input: {} };
  }
  const call = directCall(action, turn);
  if (!turn.tools.includes(CODE_MODE)) return call;
  const name = call.namespace ? `${call.namespace}__${call.name}` : call.name;
  const input = JSON.stringify(call.freeform ?? call.input);
  const code = [
    '// @exec: {"yield_time_ms": 300000}',
    `text(await tools.${name}(${input}));`
  ].join('\n');
  return { name: 'exec', namespace: 'functions', freeform: code, input: {} };
}

function directCall(action: ToolAction, turn: Turn): ToolCall {
  switch (action.do) {
    case 'shell':
      return shell(action.command, turn, action.escalated);
    case 'read':
      return shell(`cat ${quoted(action.path)}`, turn);
    case 'write':
      if (offers(turn, 'apply_patch')) {
        const freeform = patch(action.path, action.text);
        return { name: 'apply_patch', freeform, input: {} };
      }
      return shell(
        `printf %s ${quoted(action.text)} > ${quoted(action.path)}`,
        turn
      );
    case 'tool':
      return { name: action.name, input: action.arguments };
    case 'mcp':
      return {
        name: plain(action.tool),
        namespace: plain(`mcp__${action.server}`),
        input: action.arguments
      };
  }
}

function shell(command: string, turn: Turn, escalated = false): ToolCall {
  if (offers(turn, 'exec_command')) {
    // The tool answers "still running" after this long; scripts expect ends.
    const input = {
      cmd: command,
      yield_time_ms: 30_000,
      ...(escalated ? escalation : {})
    };
    return { name: 'exec_command', input };
  }
  if (turn.tools.includes('shell_command')) {
    return { name: 'shell_command', input: { command } };
  }
  return { name: 'shell', input: { command: ['sh', '-c', command] } };
}

const escalation = {
  sandbox_permissions: 'require_escalated',
  justification: 'It is needed.'
};

function offers(turn: Turn, tool: string): boolean {
  return turn.tools.includes(tool) || turn.tools.includes(CODE_MODE);
}

function patch(path: string, text: string): string {
  const lines = text.split('\n').map((line) => `+${line}`);
  return [
    '*** Begin Patch',
    `*** Add File: ${path}`,
    ...lines,
    '*** End Patch'
  ].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, '_');
}
