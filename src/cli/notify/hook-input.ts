import { isObject } from '../../config/overrides.ts';
import { HostError } from '../../core/errors.ts';
import { isAgentId } from '../../core/runs/run.ts';
import { parseJson } from '../../core/runs/run-files.ts';

/**
 * The ids of the agents in the answer of a tool, from the JSON that Claude Code
 * writes to a `PostToolUse` hook. Its `tool_response` is an answer, its text,
 * or a list of content blocks.
 * @throws HostError `invalid_input` for text that is not a JSON object
 */
export function agentIdsIn(text: string): string[] {
  const input = parseJson(text);
  if (!isObject(input))
    throw new HostError(
      'invalid_input',
      'There is no JSON of a hook on stdin.',
      'Claude Code runs this command: docs/guides/notifications.md shows its settings.'
    );
  return [...new Set(idsIn(input.tool_response))];
}

/** Answers lie no deeper than this in blocks, lists and texts. */
const mostLevels = 5;

function idsIn(value: unknown, level = 0): string[] {
  if (level > mostLevels) return [];
  const within = (inner: unknown) => idsIn(inner, level + 1);
  if (typeof value === 'string') {
    const answer = parseJson(value);
    return typeof answer === 'string' ? [] : within(answer);
  }
  if (Array.isArray(value)) return value.flatMap(within);
  if (!isObject(value)) return [];
  const { agent_id: id, members, type, text } = value;
  const ofMembers = Array.isArray(members)
    ? members.map((member: unknown) =>
        isObject(member) ? member.agentId : undefined
      )
    : [];
  const own = [id, ...ofMembers].flatMap((one) =>
    typeof one === 'string' && isAgentId(one) ? [one] : []
  );
  return [
    ...own,
    ...(type === 'text' ? within(text) : []),
    ...within(value.content),
    ...within(value.structuredContent)
  ];
}
