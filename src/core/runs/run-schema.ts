import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { failureCodes } from '../engines/failures.ts';
import { lazy } from '../lazy.ts';
import { identitySchema } from '../processes/process-identity.ts';
import { parseJson } from './run-files.ts';

/**
 * The schemas of `record.json` and `outcome.json`, from which run.ts derives
 * its types. Both files are validated when they are read, because another
 * version or another process may have written them.
 */
const count = z.number().min(0);
const text = z.string();
const nullable = z.string().nullable();
const agentId = z.string().regex(/^[0-9a-f]{8}$/);
const path = z.string().refine(isAbsolute);

const usage = lazy(() =>
  z.object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number()
  })
);

/** The request of a spawn. Written once, before the spawn is answered. */
export const recordSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    agent_id: agentId,
    engine: z.string().min(1),
    label: text,
    kind: z.enum(['cli', 'api']),
    /** The resolved name, or null for the engine's default. */
    model: nullable,
    access: z.enum(['read', 'write', 'full']),
    enforcement: z.enum(['enforced', 'asked']),
    tools: nullable,
    cwd: path,
    /**
     * The run's own worktree, which contains `cwd`. `base` is the commit that
     * it was created from, `origin` the top directory of its repository.
     */
    worktree: z
      .object({ path, branch: text, base: text, origin: path })
      .exactOptional(),
    /** The program that it runs. Absent for APIs and in older records. */
    command: text.exactOptional(),
    /** Path of its argument template; the answer is then its plain stdout. */
    template: text.exactOptional(),
    /** Its program, if that is not the engine's own. */
    program: text.exactOptional(),
    /** With the field names of the MCP tools. */
    squad: z
      .object({ squadId: text, memberId: text, roleId: text })
      .exactOptional(),
    /** Set for a squad member whose session is a chat that has its role. */
    in_chat: z.literal(true).exactOptional(),
    /** Set for a run that waits for other runs before it requests a slot. */
    comes_after: z.literal(true).exactOptional(),
    /** First line of the prompt, or of a member's task. */
    task: text,
    prompt_chars: count,
    system_prompt: nullable,
    timeout_seconds: count,
    idle_timeout_seconds: count,
    /** Absent in records of earlier versions, like `new_session_id`. */
    retry_seconds: count.exactOptional(),
    output_limit_bytes: count,
    /** Who answers its asks. Absent for a run that may not ask. */
    ask: z.enum(['coordinator', 'person']).exactOptional(),
    /** Seconds until an ask is refused. */
    ask_timeout_seconds: count.exactOptional(),
    on_disconnect: z.enum(['keep', 'stop']),
    request_id: nullable,
    created_at: text,
    owner: identitySchema(),
    /**
     * `client` is `clientInfo.name`, at most 200 characters. `session`
     * identifies one client of a server that has several; it is no secret.
     * Absent for the command line, and in records of earlier versions.
     */
    caller: z
      .object({ client: text, session: text.exactOptional() })
      .exactOptional(),
    parent: nullable,
    depth: count,
    /** The agent that this one continues, and the engine's session. */
    continues: nullable,
    session_id: nullable,
    /** The id that the engine was given for a new session. */
    new_session_id: nullable.exactOptional()
  })
);

/** How a run ended. Written once; the first writer wins. */
export const outcomeSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    status: z.enum([
      'completed',
      'failed',
      'timeout',
      'canceled',
      'interrupted'
    ]),
    error: nullable,
    error_code: z.enum(failureCodes).nullable(),
    /** File in the agent's folder that holds the whole answer. */
    result_file: z.string().regex(/^(stdout|result(-[0-9a-f]{12})?\.txt)$/),
    result_chars: count,
    /** A short answer, from which a lost `result_file` is written again. */
    result_text: text.exactOptional(),
    exit_code: z.number().nullable(),
    model: nullable,
    session_id: nullable,
    usage: usage().nullable(),
    /** Usage of the whole session, for engines that report only that. */
    session_usage: usage().nullable(),
    cost_usd: count.nullable(),
    denials: z.array(z.string()),
    started_at: nullable,
    completed_at: text,
    duration_ms: count,
    /** The process that wrote this file and then journals the end. */
    settled_by: identitySchema().exactOptional()
  })
);

/** Undefined for text that is no record of this agent. */
export function parseRun(id: string, text: string) {
  const parsed = recordSchema().safeParse(parseJson(text));
  return parsed.data?.agent_id === id ? parsed.data : undefined;
}

/** Undefined for text that is no outcome. */
export function parseOutcome(text: string) {
  return outcomeSchema().safeParse(parseJson(text)).data;
}
